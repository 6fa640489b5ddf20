/** Work in a thread: what becomes of requests, also when the thread dies or is closed. */
import t, { type Test } from 'tap'
import { ThreadEnded, WorkerThread } from '../../lib/base/worker-thread.ts'
import type { Asked } from '../support/echo-worker.ts'

function open(t: Test) {
  const died: string[] = []
  const thread = new WorkerThread<Asked, string>(new URL('../support/echo-worker.ts', import.meta.url), {
    data: 'said',
    onDied: error => died.push(error.message),
  })
  t.teardown(() => thread.close())
  return { thread, died }
}

t.test('each request gets its own answer, in whatever order they come', async t => {
  const { thread } = open(t)
  const slow = thread.ask({ answer: 'slow', turns: 50 })
  const order: string[] = []
  await Promise.all([slow, thread.ask({ answer: 'quick' })].map(one => one.then(answer => order.push(answer))))
  t.same(order, ['said quick', 'said slow'])
})

t.test('what the worker throws is the failure of that request alone', async t => {
  const { thread, died } = open(t)
  const [failed, other] = await Promise.allSettled([thread.ask({ throws: 'too far' }), thread.ask({ answer: 'x' })])
  t.match(failed, { status: 'rejected', reason: { message: 'too far', stack: /RangeError[\s\S]*echo-worker/ } })
  t.match(other, { value: 'said x' })
  t.same(died, [])
})

t.test('a request that cannot be sent fails, and the next one is answered', async t => {
  const { thread } = open(t)
  await t.rejects(thread.ask({ answer: (() => {}) as never }), { name: 'DataCloneError' })
  t.equal(await thread.ask({ answer: 'x' }), 'said x')
})

t.test('a thread that dies takes with it what it was asked, and the next request has another one', async t => {
  const { thread, died } = open(t)
  const results = await Promise.allSettled([thread.ask({ turns: 100_000 }), thread.ask({ ends: true })])
  for (const result of results) t.ok(result.status === 'rejected' && result.reason instanceof ThreadEnded)
  t.same(died, ['the thread has ended'])
  t.equal(await thread.ask({ answer: 'x' }), 'said x')
})

t.test('a thread that is closed answers nothing more, and has not died', async t => {
  const { thread, died } = open(t)
  const asked = thread.ask({ turns: 100_000 })
  await Promise.all([t.rejects(asked, ThreadEnded), thread.close()])
  await t.rejects(thread.ask({}), ThreadEnded)
  t.same(died, [])
})
