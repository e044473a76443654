package main
import "fmt"
func main(){ fmt.Println(measure(func(string)bool{return true})) }
