/** What every host does with a pack: the same texts, long and short, of both languages. No global of one host only. */

const LONG = "The committee met on Tuesday to discuss the garden, the roof and the unpaid invoices. ".repeat(12);
const TEXTS = [
  "hello",
  "The user loves sushi and is allergic to peanuts.",
  "Which programming language does she use at work?",
  "用户喜欢吃披萨，尤其是玛格丽特",
  "用户主要写 Python，用 pytest 做测试",
  "Ça coûte 3,50 € — naïve café, Zürich; 東京 2020 🎉",
  LONG,
];

/** Plain numbers, since this crosses process and network borders as JSON. */
export async function vectorsOf({ Burrow, Embedder }, pack) {
  const embedder = await Embedder.load({ pack });
  const documents = await embedder.embed(TEXTS);
  const [question] = await embedder.embed([TEXTS[2]], { kind: "query" });
  await embedder.close();
  const burrow = await Burrow.open({ storage: "memory", index: false });
  const { build } = await burrow.stats();
  await burrow.close();
  return { build: build.wasm, vectors: [...documents, question].map((vector) => Array.from(vector)) };
}
