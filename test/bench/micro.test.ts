import path from 'node:path'
import t from 'tap'
import { libOf, load, NAMES } from '../../bench/micro/bench.ts'
import { checkFacts } from '../../bench/micro/facts.ts'
import { figures, measure } from '../../bench/micro/measure.ts'
import { checkMeter, feed, PROTOCOLS } from '../../bench/micro/meter.ts'
import { withoutUsage } from '../../bench/micro/passing.ts'
import { document, stream } from '../../bench/micro/workloads/answers.ts'
import { events } from '../../bench/micro/workloads/chunks.ts'
import { conversation } from '../../bench/micro/workloads/conversation.ts'
import { protocolRow } from '../../lib/protocols/table.ts'
import { seeded } from '../support/random.ts'

const lib = libOf(path.join(import.meta.dirname, '../..'))

for (const name of NAMES) {
  t.test(`${name}: every subject is right on its workload, before and after it ran`, async t => {
    const { seed } = seeded(t)
    const cases = await (await load(name, 'test'))(lib, seed)
    t.ok(cases.length > 0)
    t.equal(new Set(cases.map(c => c.name)).size, cases.length, 'a name each')
    for (const subject of cases) {
      await subject.check()
      t.ok(Number.isFinite(subject.run()), subject.name)
      await subject.rest?.()
      await subject.check()
    }
    for (const subject of cases) await subject.close?.()
  })
}

t.test('the checks find what is wrong', async t => {
  const { seed } = seeded(t)
  const talk = conversation(seed, 20_000)
  const scan = protocolRow('messages').body.scan('application/json')
  scan.feed(talk.bytes)
  const facts = scan.end()
  checkFacts(facts, talk)
  for (const change of [{ model: 'x' }, { maxOutput: 1 }, { cacheTtl: '5m' as const }, { modelSpan: null }])
    t.throws(() => checkFacts(facts && { ...facts, ...change }, talk), JSON.stringify(change))
  t.throws(() => checkFacts(null, talk))
  for (const protocol of PROTOCOLS) {
    const answer = stream(protocol, seed, 10_000, true)
    const meter = () => protocolRow(protocol).meter({ events: true, lengthStop: false, cacheTtl: '5m' })
    const half = events(answer.bytes).slice(0, -3)
    t.throws(() => checkMeter(feed(meter(), half), answer), `${protocol}: cut short`)
    const other = { ...answer, usage: answer.usage && { ...answer.usage, output: 9_999 } }
    t.throws(() => checkMeter(feed(meter(), [answer.bytes]), other), `${protocol}: another usage`)
  }
  const whole = document('chat', seed, 1_000)
  const meter = protocolRow('chat').meter({ events: false, lengthStop: false, cacheTtl: '5m' })
  t.throws(() => checkMeter(feed(meter, [whole.bytes.subarray(0, -1)]), whole))
})

t.test('only the event with usage is withheld', async t => {
  const { bytes } = stream('chat', seeded(t).seed, 5_000, true)
  const all = bytes.toString().split(/(?<=\n\n)/)
  t.equal(withoutUsage(bytes.toString()), [...all.slice(0, -2), all.at(-1)].join(''))
})

t.test('figures: the median, per operation', async t => {
  const rounds = [400, 100, 200].map(ns => ({ ns, allocated: ns / 10 }))
  t.same(figures({ bytes: 800, per: 2 }, rounds), { ns: 200, spread: 1.5, allocated: 20, gbPerS: 2 })
  t.equal(figures({}, rounds).gbPerS, null)
})

t.test('two sides are measured in turns; a run without a number is an error', async t => {
  const order: string[] = []
  const side = (name: string, value = 1) => ({
    name,
    most: 1,
    check() {},
    run: () => {
      order.push(name)
      return value
    },
  })
  const found = await measure([side('a'), side('b')])
  t.equal(found.length, 2)
  t.same(order.slice(-14).join(''), 'abbaabbaabbaab')
  await t.rejects(measure([side('c', Number.NaN)]), /c: a run went wrong/)
})
