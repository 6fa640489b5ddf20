/** The simulator's reranking: a document scores by how many words of the query it has. */

import { fieldsOf } from '../../../lib/protocols/json/text.ts'
import { stringOf, countOf, need, type Dialect, type Fields, listOf } from '../dialect.ts'
import { INPUT_ONLY, inputAsk, fixedPaths } from './plain.ts'

export const rerank: Dialect = {
  ...INPUT_ONLY,
  route: fixedPaths({ '/v1/rerank': 'answer' }),
  read(body) {
    const query = stringOf(body['query'])
    const documents = documentsOf(body)
    need(query !== '' && documents.length > 0, 'query and documents must not be empty')
    // the query is read once with each document
    const texts = documents.flatMap(document => [document, query])
    return inputAsk(body, texts, documents.length)
  },
  whole({ model, body }, { id, usage, reports }) {
    const documents = documentsOf(body)
    const wanted = wordsOf(stringOf(body['query']))
    const results = documents
      .map((text, index) => ({ index, relevance_score: score(wanted, text), document: { text } }))
      .sort((a, b) => b.relevance_score - a.relevance_score)
      .slice(0, countOf(body['top_n']) ?? documents.length)
      .map(({ document, ...result }) => (body['return_documents'] === true ? { ...result, document } : result))
    return { id, model, results, ...(reports ? { usage: { total_tokens: usage.input } } : {}) }
  },
}

const documentsOf = (body: Fields): string[] =>
  listOf(body['documents']).map(document =>
    typeof document === 'string' ? document : stringOf(fieldsOf(document)['text']),
  )

const wordsOf = (text: string): string[] => text.toLowerCase().match(/\w+/g) ?? []

function score(wanted: readonly string[], text: string): number {
  const has = new Set(wordsOf(text))
  return wanted.length === 0 ? 0 : wanted.filter(word => has.has(word)).length / wanted.length
}
