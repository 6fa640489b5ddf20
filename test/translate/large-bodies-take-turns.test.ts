/**
 * One account that sent many large bodies at once took all places of the thread that translates them, also when it had no money: others
 * got 503, or waited behind all of its bodies. And a body in whose envelopes millions of values stood held up everything else.
 */
// The bug behind these rows: large bodies of one account.
import t from 'tap'
import { envelopeCuts } from '../../lib/translate/opaque.ts'
import { plainTarget } from '../../lib/translate/ask.ts'
import { translatedRow } from '../../lib/translate/table.ts'
import { type RequestJob, TranslationThreads } from '../../lib/translate/thread.ts'

const job = (): RequestJob => ({
  what: 'request',
  bytes: new Uint8Array(Buffer.from('{"messages":[{"role":"user","content":"x"}]}')),
  longStrings: [],
  protocol: 'chat',
  head: { model: 'm', stream: false },
  via: 'messages',
  target: plainTarget('m'),
})

t.test('accounts take turns, and who has few bodies is not kept out by who has many', async t => {
  const thread = new TranslationThreads({ onOver: () => {}, onDied: error => t.fail(error.message) })
  const done: string[] = []
  const run = (accountId: number, name: string): Promise<void> =>
    new Promise(resolve => {
      thread.run(accountId, 'request', job, ({ what }) => {
        done.push(`${name}${what === 'request' ? '' : ` ${what}`}`)
        resolve()
      })
    })
  const many = Array.from({ length: 33 }, (_, n) => run(1, `a${n}`))
  await Promise.all([...many, run(2, 'b0'), run(2, 'b1'), run(3, 'c0'), run(1, 'a33')])
  t.same(
    done.filter(one => one.endsWith(' full')),
    ['a32 full', 'a31 full', 'a30 full', 'a33 full'],
  )
  t.same(done.filter(one => !one.endsWith(' full')).slice(0, 7), ['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3'])
})

t.test('a body of too many values goes on as it is', t => {
  const places = translatedRow('messages')?.state ?? []
  const model = { model: 'm', thinking: 'effort' } as const
  const body = (more: number): string =>
    `{"messages":[{"content":[{"signature":"gw1.abcdefghijkl.s..x"},{"text":"y"}]}],"more":[${'1,'.repeat(more)}1]}`
  t.equal(envelopeCuts(body(100_000), places, model).length, 1)
  t.same(envelopeCuts(body(200_000), places, model), [])
  t.end()
})
