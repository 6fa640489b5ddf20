/** A server that takes connections and never says a word. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { until } from '../support/wait.ts'

async function silentServer(t: Test) {
  const open = new Set<Socket>()
  const seen = { open, most: 0 }
  const server = createServer(socket => {
    open.add(socket)
    seen.most = Math.max(seen.most, open.size)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const store = openStore(`mysql://u:p@127.0.0.1:${port}/x?pool=2&connect_ms=400&query_ms=400`, { secret: 's' })
  t.teardown(async () => {
    for (const socket of open) socket.destroy()
    server.close()
    await store.close()
  })
  return { store, seen }
}

const outcome = (call: Promise<unknown>) =>
  call.then(
    () => 'an answer',
    error => (error instanceof StoreUnavailable ? 'unavailable' : String(error)),
  )

t.test('few connections hang on it, those who wait leave, and a ping waits behind nobody', async t => {
  const { store, seen } = await silentServer(t)
  const calls = Array.from({ length: 60 }, (_, i) => outcome(store.accounts.byName(String(i))))
  await until('both places are taken', () => seen.open.size === 2)
  const ping = outcome(store.ping())
  await until('the ping has a connection of its own', () => seen.open.size === 3)
  t.same(new Set(await Promise.all([...calls, ping])), new Set(['unavailable']))
  t.equal(seen.most, 3)
  await until('nobody who has left the line gets a connection', () => seen.open.size === 0)
})

t.test('so many may wait for a connection, and one more is told so', async t => {
  const { store } = await silentServer(t)
  const calls = Array.from({ length: 2 + 1_000 }, (_, i) =>
    store.accounts.byName(String(i)).catch((error: Error) => error.message),
  )
  t.match(
    await store.accounts.byName('one more').catch((error: Error) => error.message),
    /too many calls wait for a connection/,
  )
  const answers = await Promise.all(calls)
  t.same(
    answers.filter(answer => /too many/.test(String(answer))),
    [],
  )
})

t.test('so many look-ups of keys are gathered while one is under way, and one more is told so', async t => {
  const { store } = await silentServer(t)
  const calls = Array.from({ length: 1 + 10_000 }, (_, i) => outcome(store.keys.find(String(i))))
  t.match(await store.keys.find('one more').catch((error: Error) => error.message), /too many keys are being looked up/)
  t.same(new Set(await Promise.all(calls)), new Set(['unavailable']))
})
