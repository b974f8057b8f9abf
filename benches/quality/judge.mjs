// Judging vectors by what they are for. Pure functions; vectors have unit length, documents first, then queries.
import { cosine, median } from "../embed/rounds.mjs";

const TOP = 10;

/** For each query the rows of its ten nearest documents, nearest first; ties go to the earlier row. */
export function rank(vectors, documents, queries) {
  return queries.map((_, q) => top(vectors[documents.length + q], vectors, documents.length));
}

function top(query, vectors, count) {
  const best = [];
  for (let row = 0; row < count; row++) {
    const score = dot(query, vectors[row]);
    if (best.length === TOP && score <= best[TOP - 1].score) continue;
    let at = best.length;
    while (at > 0 && best[at - 1].score < score) at -= 1;
    best.splice(at, 0, { row, score });
    if (best.length > TOP) best.pop();
  }
  return best.map(({ row }) => row);
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
}

/** nDCG@10 in percent; relevance is yes or no. */
export function judge(ranked, documents, queries) {
  const rows = new Map(documents.map(({ id }, row) => [id, row]));
  const gain = (place) => 1 / Math.log2(place + 2);
  const scores = queries.map(({ relevant }, q) => {
    const wanted = new Set(relevant.map((id) => rows.get(id)));
    const found = ranked[q].reduce((sum, row, place) => sum + (wanted.has(row) ? gain(place) : 0), 0);
    const ideal = Array.from({ length: Math.min(TOP, wanted.size) }, (_, place) => gain(place));
    return found / ideal.reduce((a, b) => a + b);
  });
  return { ndcg: (100 * scores.reduce((a, b) => a + b)) / scores.length };
}

/** How near one set of vectors is to another; with queries, also how much of the searches' answers is the same. */
export function compare(vectors, reference, ranked, documents, queries) {
  const cosines = vectors.map((vector, i) => cosine(vector, reference[i]));
  const near = { cosineMin: Math.min(...cosines), cosineMedian: median(cosines) };
  if (ranked === undefined) return near;
  const again = rank(vectors, documents, queries);
  const kept = again.map((rows, q) => rows.filter((row) => ranked[q].includes(row)).length / TOP);
  const overlap = kept.reduce((a, b) => a + b) / kept.length;
  return { ...near, overlap, ...judge(again, documents, queries) };
}
