/** Embeddings in the forms of Vertex AI: which form a model has, and answers that are read wherever they are cut. */
import t from 'tap'
import type { Fields } from '../../lib/protocols/json/text.ts'
import type { OtherFormReader, InOtherForm } from '../../lib/protocols/protocol.ts'
import { EMBEDDINGS_ON_VERTEX } from '../../lib/protocols/vertex-embeddings.ts'
import { cut, seeded } from '../support/random.ts'

const formOf = (model: string) => EMBEDDINGS_ON_VERTEX.otherForm?.(model) ?? null
const written = (model: string, body: Fields) => formOf(model)?.write(body, model, 'embeddings') as InOtherForm

function read(reader: OtherFormReader, chunks: readonly Buffer[]): Fields | null {
  for (const chunk of chunks) reader.feed(chunk)
  const told = reader.end()
  return told === null ? null : (JSON.parse(told) as Fields)
}

t.test('the method, by the name of the model', t => {
  const rows: [model: string, method: string | undefined][] = [
    ['text-embedding-005', 'predict'],
    ['text-multilingual-embedding-002', 'predict'],
    ['textembedding-gecko@003', 'predict'],
    ['gemini-embedding-001', 'predict'],
    ['gemini-embedding-2', 'embedContent'],
    ['gemini-embedding-2-preview', 'embedContent'],
    ['intfloat/multilingual-e5-large-instruct-maas', undefined],
  ]
  for (const [model, method] of rows) t.equal(formOf(model)?.path.split(':')[1], method, model)
  t.end()
})

const vector = (seed: number, length: number) => Array.from({ length }, (_, i) => Math.sin(seed * 977 + i))

t.test('many vectors, wherever the answer is cut', t => {
  const random = seeded(t)
  const vectors = Array.from({ length: 20 }, (_, i) => vector(i, 300))
  const predictions = vectors.map((values, i) => ({
    embeddings: { statistics: { truncated: false, token_count: i }, values },
  }))
  const answer = { predictions, metadata: { billableCharacterCount: 7 }, deployedModelId: '"predictions":[' }
  const { reader } = written('text-embedding-005', { input: vectors.map((_, i) => `text ${i}`) })
  const want = {
    object: 'list',
    data: vectors.map((embedding, index) => ({ object: 'embedding', index, embedding })),
    model: 'text-embedding-005',
    usage: { prompt_tokens: 190, total_tokens: 190 },
  }
  for (const space of [0, 2])
    for (let i = 0; i < 20; i++)
      t.same(read(reader(), cut(random, Buffer.from(JSON.stringify(answer, null, space)))), want)
  const bytes = Buffer.from(JSON.stringify(answer))
  for (let i = 0; i < 20; i++)
    t.equal(read(reader(), [bytes.subarray(0, random.int(0, bytes.length - 1))]), null, 'cut off')
  t.end()
})

t.test('base64 has 32 bits of each number, as OpenAI writes them', t => {
  const values = vector(1, 768)
  const { reader } = written('gemini-embedding-2', { input: 'x', encoding_format: 'base64' })
  const answer = { embedding: { values }, usageMetadata: { promptTokenCount: 3 } }
  const told = read(reader(), [Buffer.from(JSON.stringify(answer))])
  const [first] = (told?.['data'] ?? []) as { embedding: string }[]
  const bytes = Buffer.from(first?.embedding ?? '', 'base64')
  t.same(
    Array.from(values, (_, i) => bytes.readFloatLE(4 * i)),
    values.map(Math.fround),
  )
  t.same(told?.['usage'], { prompt_tokens: 3, total_tokens: 3 })
  t.end()
})
