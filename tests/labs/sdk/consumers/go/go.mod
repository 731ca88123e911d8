module example.com/gatewright/journey

go 1.23

require example.com/gatewright/gatewright v0.0.0

replace example.com/gatewright/gatewright => ../go
