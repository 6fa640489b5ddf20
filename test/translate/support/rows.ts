/** Requests from one protocol to another as rows: what a client sends, and what the upstream gets, is told as lost, or is spared. */
import type { Test } from 'tap'
import { type TranslationTarget, type Written, plainTarget } from '../../../lib/translate/ask.ts'
import type { LossWord } from '../../../lib/translate/events.ts'
import type { Translated } from '../../../lib/translate/table.ts'
import type { Loose } from './answers.ts'
import { messages } from './protocols.ts'

export interface Row {
  what: string
  /** Absent: the protocol of the file. */
  from?: Translated
  to: Translated
  body: object | string
  target?: Partial<TranslationTarget>
  /** A pattern of the body. */
  gets?: object
  check?: (body: Loose, t: Test, written: Written) => void
  losses?: LossWord[]
}

export const via = (
  from: Translated,
  to: Translated,
  body: object | string,
  target: Partial<TranslationTarget> = {},
): Written => {
  const bytes = Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
  return to.writeRequest(from.readRequest(bytes, { model: 'model', stream: true }), { ...plainTarget('up'), ...target })
}

export const bodyOf = ({ body }: Written): Loose => JSON.parse(Buffer.from(body, 'latin1').toString())

/** A test for each row. */
export function testRows(t: Pick<Test, 'test'>, client: Translated, rows: readonly Row[]): void {
  for (const { what, from = client, to, body, target, gets, check, losses } of rows)
    t.test(what, async t => {
      const written = via(from, to, body, target)
      const got = bodyOf(written)
      if (gets !== undefined) t.match(got, gets)
      check?.(got, t as never, written)
      if (losses !== undefined) t.same([...written.losses].sort(), [...losses].sort())
    })
}

/** What would make another answer of a request is refused, by its name. */
export function refuses(
  t: Test,
  from: Translated,
  to: Translated,
  body: object | string,
  field: RegExp | string,
): void {
  t.throws(() => via(from, to, body), { name: 'Error', field }, String(field))
}

/** What has no place in a parser arrives as it was sent, from messages to the protocol and back. */
export function arrivesAsSent(t: Test, to: Translated): void {
  const input = '{"a": 1.0,"b":12345678901234567890,"c":1e400,"__proto__":{"x":1},"2":1,"1":"\\ud800 \\u00e9 é \\/"}'
  const text = '"é \\ud83d\\ude00 \\/ 😀 \\u0000"'
  const body = `{"max_tokens":9,"tools":[{"name":"f","input_schema":{"type":"object","default":${input}}}],"messages":[{"role":"user","content":${text}},
    {"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":${input}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":${text}}]}]}`
  const there = Buffer.from(via(messages, to, body).body, 'latin1').toString()
  t.ok(there.includes(`"content":${text}`))
  t.ok(there.includes(`"default":${input}`))
  const back = Buffer.from(via(to, messages, there).body, 'latin1').toString()
  t.ok(back.includes(`"input":${input}`), 'through a literal and out of it')
  t.ok(back.includes(`"default":${input}`))
  t.ok(back.includes(text))
}
