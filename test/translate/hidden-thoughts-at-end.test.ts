/**
 * An upstream of generate-content ends its answer with state that belongs to the text. It was told as a hidden thought behind the text,
 * and Claude Code, which prints the last block, printed nothing. State has its place where another block follows.
 */
// The bug behind these rows: answers that ended with a hidden thought.
import t from 'tap'
import { readAll, usageOf, writeAll } from './support/answers.ts'
import { generate, messages } from './support/protocols.ts'

const TEXT = { text: 'All done.' }
const SIGNED = { text: '', thoughtSignature: 'c2ln' }
const CALL = { functionCall: { name: 'f', args: {} } }
const ROWS: [what: string, parts: object[], blocks: string[]][] = [
  ['state behind the last text', [TEXT, SIGNED], ['text']],
  ['state at the last text', [{ ...TEXT, thoughtSignature: 'c2ln' }], ['text']],
  ['state of a text before a call', [TEXT, SIGNED, CALL], ['text', 'redacted_thinking', 'tool_use']],
]

for (const [what, parts, blocks] of ROWS)
  for (const events of [true, false])
    t.test(`${what}, ${events ? 'streamed' : 'whole'}`, async t => {
      const answer = { candidates: [{ content: { parts, role: 'model' }, finishReason: 'STOP' }] }
      const bytes = Buffer.from(`data: ${JSON.stringify(answer)}\r\n\r\n`)
      const told = writeAll(messages, readAll(generate, [bytes]), usageOf(), { events }).toString()
      const type = events ? /"content_block":\{"type":"(\w+)"/g : /\{"type":"(text|redacted_thinking|tool_use)"/g
      t.same(
        [...told.matchAll(type)].map(match => match[1]),
        blocks,
      )
    })
