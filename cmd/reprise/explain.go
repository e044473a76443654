package main

type explainCommand struct{}

func (explainCommand) Run() error { return nil }
