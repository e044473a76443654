package awsretry

import (
	"context"
	"reflect"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
)

// Operation is a call as a [WithKey] function sees it.
type Operation struct {
	Service string // service id, such as "DynamoDB"
	Region  string // "" if the client has none
	Name    string // of the operation, such as "GetItem"
	Input   any    // the operation's input, such as a *dynamodb.GetItemInput; not to be changed
}

// Table returns the table that the input names: its TableName, or the only key
// of its RequestItems (BatchGetItem, BatchWriteItem). "" if it names none, or
// several.
func (op Operation) Table() string {
	v := reflect.ValueOf(op.Input)
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	name := v.FieldByName("TableName")
	if name.Kind() == reflect.Pointer {
		name = name.Elem()
	}
	if name.Kind() == reflect.String {
		return name.String()
	}
	items := v.FieldByName("RequestItems")
	if items.Kind() == reflect.Map && items.Len() == 1 {
		if key := items.MapKeys()[0]; key.Kind() == reflect.String {
			return key.String()
		}
	}
	return ""
}

// inputKey is where a call's input is kept for its key.
type inputKey struct{}

// input keeps the operation's input for the loop, which comes too late to see
// it.
type input struct{}

func (input) ID() string { return inputID }

func (input) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
	middleware.InitializeOutput, middleware.Metadata, error,
) {
	return next.HandleInitialize(middleware.WithStackValue(ctx, inputKey{}, in.Parameters), in)
}

func addInput(stack *middleware.Stack, engines *Engines) error {
	if _, there := stack.Initialize.Get(inputID); there || engines.key == nil {
		return nil
	}
	return stack.Initialize.Add(input{}, middleware.After)
}

// operationOf returns the call that ctx belongs to.
func operationOf(ctx context.Context) Operation {
	return Operation{
		Service: awsmiddleware.GetServiceID(ctx),
		Region:  awsmiddleware.GetRegion(ctx),
		Name:    awsmiddleware.GetOperationName(ctx),
		Input:   middleware.GetStackValue(ctx, inputKey{}),
	}
}
