/** A channel is told of whose reports of input are 1.5 times those of the other channels of the model. */
import t from 'tap'
import { InputSkew, type Skew } from '../../lib/exchange/record/upstream-log.ts'
import { seeded } from '../support/random.ts'
import { HEADERS, MODEL, open, PATHS } from './support/gateway.ts'

t.test('the median of a hundred answers is compared with that of the others', async t => {
  const random = seeded(t)
  const told: Skew[] = []
  const skew = new InputSkew(found => told.push(found))
  /** So many answers, whose reports are about so many times the estimate; some are far off. */
  const answers = (channel: string, ratio: number, count = 100, model = 'm') => {
    for (let i = 0; i < count; i++) {
      const estimated = random.int(100, 10_000)
      const odd = i % 10 === 0 ? random.pick([0, 50]) : 1
      skew.note(channel, model, estimated * ratio * odd, estimated)
    }
  }
  answers('b', 2.4)
  t.same(told, [], 'one channel has nothing to be compared with')
  answers('a', 1.5, 99)
  t.same(told, [], 'too few answers')
  answers('a', 1.5, 1)
  t.same(told, [], 'it reports less than the other')
  answers('b', 2.4, 99)
  t.same(told, [])
  answers('b', 2.4, 1)
  t.match(told, [{ channel: 'b', model: 'm', ratio: 2.4, others: 1.5 }], '1.6 times')
  answers('c', 2.2)
  t.equal(told.length, 1, 'less than 1.5 times the median of a and b')
  answers('d', 9, 100, 'other')
  t.equal(told.length, 1, 'of another model')
  skew.note('a', 'm', 5, 0)
  answers('b', 1.5)
  answers('c', 2.25)
  t.match(told[1], { channel: 'c', ratio: 2.25, others: 1.5 }, 'just 1.5 times')
})

t.test('operators are told of it', async t => {
  const s = await open(t, { channels: { a: {}, b: {} } })
  const body = JSON.stringify({ model: MODEL, max_tokens: 8, messages: [] })
  const answers = (prompt_tokens: number) => (call: { whole(status: number, body: object): void }) =>
    call.whole(200, { choices: [{ message: { content: 'hello' } }], usage: { prompt_tokens, completion_tokens: 1 } })
  s.at('a').script = answers(20)
  s.at('b').script = answers(30)
  const ask = async () => {
    for (let i = 0; i < 100; i++) await s.ask({ path: PATHS.chat, headers: HEADERS, body }).end()
  }
  await ask()
  await s.changeChannel('a', { status: 'disabled' })
  await ask()
  t.same(s.asked(), { a: 100, b: 100 })
  const told = s.logged.filter(line => line['msg'] === 'the upstream reports more input than others of the model')
  t.match(told, [{ level: 'warn', channel: 'b', model: MODEL }])
  t.equal(told.length, 1)
})
