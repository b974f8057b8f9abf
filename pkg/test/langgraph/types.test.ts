/** What TypeScript promises; `tsc` is the judge, vitest only runs the file. */
import type { Embeddings } from "@langchain/core/embeddings";
import type { BaseStore, Item, Operation, SearchItem } from "@langchain/langgraph-checkpoint";
import { expectTypeOf, it } from "vitest";

import type { Burrow } from "../../src/burrow.js";
import { BurrowStore, type BurrowStoreOptions, unwrapStore } from "../../src/langgraph.js";

it("is a BaseStore", () => {
  expectTypeOf<BurrowStore>().toExtend<BaseStore>();
  expectTypeOf<BurrowStore["burrow"]>().toEqualTypeOf<Burrow>();
  expectTypeOf(BurrowStore.open).returns.resolves.toEqualTypeOf<BurrowStore>();
  expectTypeOf<ConstructorParameters<typeof BurrowStore>>().toEqualTypeOf<[burrow: Burrow]>();
});

it("answers with LangGraph's own types", () => {
  expectTypeOf<BurrowStore["get"]>().returns.resolves.toEqualTypeOf<Item | null>();
  expectTypeOf<BurrowStore["search"]>().returns.resolves.toEqualTypeOf<SearchItem[]>();
  expectTypeOf<BurrowStore["listNamespaces"]>().returns.resolves.toEqualTypeOf<string[][]>();
  expectTypeOf<BurrowStore["put"]>().returns.resolves.toEqualTypeOf<void>();
  const both = (store: BurrowStore) =>
    store.batch([{ namespace: ["n"], key: "k" }, { namespacePrefix: [] }] as [
      { namespace: string[]; key: string },
      { namespacePrefix: string[] },
    ]);
  expectTypeOf(both).returns.resolves.toEqualTypeOf<[Item | null, SearchItem[]]>();
  const any = (store: BurrowStore, operations: Operation[]) => store.batch(operations);
  expectTypeOf(any).returns.resolves.toExtend<unknown[]>();
});

it("takes the index as LangGraph and as Burrow spell it", () => {
  const embeddings = {} as Embeddings;
  expectTypeOf({ index: { dims: 384, embeddings, fields: ["text"] } }).toExtend<BurrowStoreOptions>();
  expectTypeOf({ index: { embeddings } }).toExtend<BurrowStoreOptions>();
  expectTypeOf({
    index: { dims: 3, embed: (texts: string[]) => texts.map(() => [1, 2, 3]) },
  }).toExtend<BurrowStoreOptions>();
  expectTypeOf({ index: { embed: "bge-small-en-v1.5" as const } }).toExtend<BurrowStoreOptions>();
  expectTypeOf({ index: false as const, storage: "memory" as const }).toExtend<BurrowStoreOptions>();
  expectTypeOf({ index: { dims: "384", embeddings } }).not.toExtend<BurrowStoreOptions>();
  expectTypeOf({ index: { dims: 384 } }).not.toExtend<BurrowStoreOptions>();
});

it("unwraps whatever a tool was handed", () => {
  expectTypeOf(unwrapStore).parameter(0).toBeUnknown();
  expectTypeOf(unwrapStore).returns.toEqualTypeOf<BurrowStore>();
});
