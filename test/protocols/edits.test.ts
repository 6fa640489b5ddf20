/** What a kind of provider wants to be said differently in a body, as edits in place. */
import t from 'tap'
import { type BodyRule, ruleEdits, wrapped, wrappedLength, editBody } from '../../lib/protocols/requests/edits.ts'

const RULE: BodyRule = {
  leftOut: ['model', 'stream'],
  set: { version: 'v1' },
  listed: { header: 'x-beta', member: 'betas' },
}
const ONLY_OUT: BodyRule = { leftOut: ['model', 'stream'], set: {}, listed: null }
const KEEPS: BodyRule = { ...RULE, leftOut: [], listed: null }

/** The body in pieces of `size` bytes. */
const cut = (body: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(body.length / size) }, (_, i) => body.subarray(i * size, (i + 1) * size))

function edited(text: string, rule: BodyRule, headers: string[], size: number): string {
  const chunks = cut(Buffer.from(text), size)
  return Buffer.concat(editBody(chunks, ruleEdits(chunks, rule, headers)).chunks).toString()
}

t.test('members go and come, and every other byte stays', async t => {
  const rows: [body: string, upstream: string, headers?: string[], rule?: BodyRule][] = [
    ['{"model":"m","a":1}', '{"version":"v1","a":1}'],
    ['{"a":1,"model":"m"}', '{"version":"v1","a":1}'],
    ['{"model":"m"}', '{"version":"v1"}'],
    ['{"model":"m","stream":true}', '{"version":"v1"}'],
    ['{"model":"m","stream":true,"a":1}', '{"version":"v1","a":1}'],
    ['{"a":1,"model":"m","b":2,"stream":true,"c":3}', '{"version":"v1","a":1,"b":2,"c":3}'],
    [
      ' {\n  "model" : "m" ,\n  "a" : [ 1 , {"model":"x"} ]\n} ',
      ' {"version":"v1" ,\n  "a" : [ 1 , {"model":"x"} ]\n} ',
    ],
    [' {\n  "a" : 1.0 ,\n  "model" : "m"\n} ', ' {"version":"v1",\n  "a" : 1.0\n} '],
    ['{"mod\\u0065l":"m","a":"é \\"model\\":1"}', '{"version":"v1","a":"é \\"model\\":1"}'],
    ['{"version":"v0","a":1,"version":"v2"}', '{"version":"v1","a":1}'],
    ['{"model":"m","a":1}', '{"version":"v1","model":"m","a":1}', [], KEEPS],
    ['{"model":"m","a":1}', '{"version":"v1","betas":["b1","b2"],"a":1}', ['x-beta', 'b1, b2,,']],
    ['{"betas":["own"],"a":1}', '{"version":"v1","betas":["b\\"1"],"a":1}', ['x', 'y', 'x-beta', 'b"1']],
    ['{"model":"m","most":1}', '{"version":"v1","most":9}', [], { ...RULE, set: { ...RULE.set, most: 9 } }],
    ['{"betas":["own"],"a":1}', '{"version":"v1","a":1}', ['x-other', 'x-beta']],
    ['{"a":1,"b\\u0065tas":["own"]}', '{"version":"v1","a":1}', ['x-beta', '']],
    ['{"model":{"a":[1]},"stream":true, "a":1,"model":"n" }', '{"a":1 }', [], ONLY_OUT],
    ['{ "model":1 ,"a":{}}', '{"a":{}}', [], ONLY_OUT],
    ['{"a":[],"stream":1,"b":2}', '{"a":[],"b":2}', [], ONLY_OUT],
    ['{"model":1,"stream":2}', '{}', [], ONLY_OUT],
    ['{"a":1}', '{"a":1}', [], ONLY_OUT],
    ['{}', '{}', [], ONLY_OUT],
  ]
  for (const [body, upstream, headers = [], rule = RULE] of rows)
    for (const size of [1, 2, 3, 7, 1000]) t.equal(edited(body, rule, headers, size), upstream, `${body} by ${size}`)
})

t.test('nothing large is copied', async t => {
  const long = Buffer.from(`{"model":"m","text":"${'x'.repeat(100_000)}"}`)
  const { chunks } = editBody([long], ruleEdits([long], RULE, []))
  t.ok(chunks.some(chunk => chunk.length > 100_000 && chunk.buffer === long.buffer))
})

t.test('a body in its envelope is base64 of all its pieces', async t => {
  const envelope = ['{"body":"', '"}'] as const
  for (let length = 0; length < 9; length++) {
    const body = Buffer.from('{"a":"é"}').subarray(0, length)
    for (const size of [1, 2, 1000]) {
      const bytes = wrapped(cut(body, size), envelope)
      t.equal(bytes.length, wrappedLength(length, envelope))
      t.same(Buffer.from((JSON.parse(bytes.toString()) as { body: string }).body, 'base64'), body)
    }
  }
})
