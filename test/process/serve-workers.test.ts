import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { startGateway } from '../support/gateway.ts'
import { childrenOf, servingOf } from '../support/processes.ts'

const gateway = await startGateway({ config: { workers: 2 } })
t.teardown(() => gateway.stop())
const primary = servingOf(gateway.child.pid as number)

const workers = (): number[] => childrenOf(primary)

/** Until it has held for as long as a back-off of the primary's may take. */
async function stays(what: string, holds: () => boolean): Promise<void> {
  for (let [tries, held] = [0, 0]; held < 40; held = holds() ? held + 1 : 0) {
    if (tries++ > 900) throw new Error(`it never came that ${what}: ${workers()}`)
    await sleep(50)
  }
  t.pass(what)
}

const serves = async () => t.equal((await fetch(`${gateway.main}/v1/models`)).status, 401, 'and it serves')

t.test('a worker that dies is replaced', async t => {
  const [victim, other] = workers() as [number, number]
  process.kill(victim, 'SIGKILL')
  await stays('two live, one of them new', () => {
    const now = workers()
    return now.length === 2 && now.includes(other) && !now.includes(victim)
  })
  await serves()
  t.end()
})

t.test(
  'new workers that die before they are ready: the reload fails, and the old ones stay, no more and no less',
  async t => {
    const old = workers()
    process.kill(primary, 'SIGHUP')
    let fresh: number[] = []
    while (fresh.length === 0) {
      fresh = workers().filter(pid => !old.includes(pid))
      await sleep(1)
    }
    for (const pid of fresh) process.kill(pid, 'SIGKILL')
    await stays('the old two live', () => workers().sort().join() === [...old].sort().join())
    await serves()
    t.end()
  },
)

t.test('an old worker dies while new ones start: two new ones, and no third in its place', async () => {
  const old = workers()
  process.kill(primary, 'SIGHUP')
  while (workers().every(pid => old.includes(pid))) await sleep(1)
  process.kill(old[0] as number, 'SIGKILL')
  await stays('two new ones live', () => workers().length === 2 && workers().every(pid => !old.includes(pid)))
  await serves()
})

t.test('an old worker dies while a reload fails: another takes its place', async () => {
  const old = workers()
  process.kill(primary, 'SIGHUP')
  const fresh = () => workers().filter(pid => !old.includes(pid))
  while (fresh().length === 0) await sleep(1)
  const [killed] = fresh()
  process.kill(old[0] as number, 'SIGKILL')
  process.kill(killed as number, 'SIGKILL')
  const left = old[1] as number
  await stays('two live, one of them old', () => workers().length === 2 && workers().includes(left))
  await serves()
})

t.test('a reload that works: two new ones', async t => {
  const old = workers()
  process.kill(primary, 'SIGHUP')
  await stays('two new ones live', () => workers().length === 2 && workers().every(pid => !old.includes(pid)))
  await serves()
  t.end()
})
