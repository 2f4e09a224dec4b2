package main

// failure is an error on its way from check or must to the function that returns it.
type failure struct{ error }

// check ends the function with an error, unless it is nil. The function has deferred fails.
func check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// must returns the value of a call, or ends the function with the call's error, as check does.
func must[T any](value T, err error) T {
	check(err)
	return value
}

// fails, deferred by a function that uses check or must, makes their error the one that the function returns: no
// failure leaves the function, nor its goroutine.
func fails(err *error) {
	switch f := recover().(type) {
	case nil:
	case failure:
		*err = f.error
	default:
		panic(f)
	}
}
