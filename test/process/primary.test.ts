import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Primary } from '../../lib/process/primary.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'

function open() {
  const clock = new TestClock()
  const asked: [number, string][] = []
  const primary = new Primary((id, op) => asked.push([id, op]), clock)
  return { clock, asked, primary }
}

t.test('answers find their questions', async t => {
  const { asked, primary } = open()
  const [held, holders, changed] = [primary.held(), primary.holders(), primary.changed()]
  t.same(asked, [
    [0, 'held'],
    [1, 'holders'],
    [2, 'changed'],
  ])
  primary.hear({ type: 'answer', id: 1, ok: true, value: ['one', 'two'] })
  primary.hear({ type: 'answer', id: 2, ok: true, value: null })
  primary.hear({ type: 'answer', id: 0, ok: true, value: [['a1', 5]] })
  t.same(await holders, ['one', 'two'])
  t.equal(await changed, undefined)
  t.same(await held, new Map([['a1', micro(5)]]))
})

t.test('no answer, or none that counts: the caller tries again later', async t => {
  const { clock, primary } = open()
  const [late, failed] = [primary.settled(), primary.channelStates()]
  late.catch(() => {})
  primary.hear({ type: 'answer', id: 1, ok: false, value: null })
  await t.rejects(failed, StoreUnavailable)
  clock.advance(5_000)
  await t.rejects(late, StoreUnavailable)
  t.doesNotThrow(() => primary.hear({ type: 'answer', id: 0, ok: true, value: null }), 'an answer may come too late')
})
