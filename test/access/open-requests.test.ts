import t from 'tap'
import { Questions } from '../../lib/access/open-requests.ts'

t.test('as many questions of an account at once as one may have; one that ends makes room', async t => {
  const questions = new Questions(2)
  const ends: (() => void)[] = []
  const ask = (account: number) => questions.take(account, () => new Promise<void>(resolve => void ends.push(resolve)))
  const asked = [ask(1), ask(1), ask(1), ask(2)]
  t.same(
    asked.map(one => one !== null),
    [true, true, false, true],
  )
  for (let i = 0; i < 2; i++) {
    ends[0]?.()
    await asked[0]
    t.not(ask(i === 0 ? 1 : 3), null)
  }
  t.equal(ask(1), null)
})
