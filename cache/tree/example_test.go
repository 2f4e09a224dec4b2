package tree_test

import (
	"fmt"

	"sluice/cache/tree"
)

func pod(key tree.Key, rv uint64) *tree.Object {
	return &tree.Object{Key: key, RV: rv, Data: fmt.Appendf(nil, "%s@%d", key, rv)}
}

// Lists of one format share the encoding of each segment.
func ExampleRun_Memo() {
	pods := tree.New([]*tree.Object{pod("a/x", 1), pod("a/y", 2)}, nil)
	budget := tree.NewBudget(1 << 20)
	encode := func(objects []*tree.Object) (any, int64, error) {
		fmt.Println("encoding", len(objects), "objects")
		var block []byte
		for _, o := range objects {
			block = fmt.Appendf(block, "[%s]", o.Data)
		}
		return block, int64(len(block)), nil
	}
	for range 2 {
		for run := range pods.Runs(tree.Range{}) {
			block, err := run.Memo(budget, "lower case", encode)
			if err != nil {
				panic(err)
			}
			fmt.Printf("%s\n", block)
		}
	}
	// Output:
	// encoding 2 objects
	// [a/x@1][a/y@2]
	// [a/x@1][a/y@2]
}
