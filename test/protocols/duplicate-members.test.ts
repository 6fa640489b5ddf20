/**
 * Members that a kind of provider does not take are left out of a body. One client could send a million of the same name, each of which
 * was an edit: the body of 32 MiB held up all other exchanges for seconds and took several hundred MB.
 */
// The bug behind these rows: a member said a million times.
import t from 'tap'
import { MESSAGES_ON_BEDROCK } from '../../lib/protocols/clouds.ts'
import { type BodyRule, RuleScan, ruleEdits, editBody } from '../../lib/protocols/requests/edits.ts'

const RULE = MESSAGES_ON_BEDROCK.body as BodyRule
const body = (count: number): Buffer => Buffer.from(`{${'"a":1,"anthropic_beta":["x"],'.repeat(count)}"z":2}`)

t.test('a few are left out', async t => {
  const { chunks } = editBody([body(64)], ruleEdits([body(64)], RULE, []))
  const text = Buffer.concat(chunks).toString()
  t.same(JSON.parse(text), { anthropic_version: 'bedrock-2023-05-31', a: 1, z: 2 })
  t.notMatch(text, 'anthropic_beta')
})

t.test('with more there is no request', async t => {
  t.throws(() => ruleEdits([body(65)], RULE, []), { message: 'the body says the same too often' })
  const scan = new RuleScan(RULE)
  for (const byte of body(1000)) scan.feed(Buffer.of(byte))
  t.throws(() => scan.edits([]), { message: 'the body says the same too often' })
})
