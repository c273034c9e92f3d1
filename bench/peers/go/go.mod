module skua-peer-go

go 1.19
