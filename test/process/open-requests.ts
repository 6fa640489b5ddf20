/** Requests of one account at several processes: exactly `limits.concurrency` are let in, also after processes were killed. */
import type { Test } from 'tap'
import { KEY, stallAfter, type TestGateway } from '../support/gateway.ts'
import { childrenOf, servingOf } from '../support/processes.ts'
import { until } from '../support/wait.ts'

export const LIMIT = 3

/** A stream that was let in, and stands still. */
interface Open {
  leave(): void
  isCut: boolean
}

/** Asks for a stream that stands still; null = it was refused because the account has as many as it may. */
async function ask(t: Test, gateway: TestGateway): Promise<Open | null> {
  const leaving = new AbortController()
  const answer = await fetch(`${gateway.main}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'beta-4.7',
      stream: true,
      max_tokens: 200,
      messages: [{ role: 'user', content: `[[sim tokens=100 ${stallAfter(4)}]]` }],
    }),
    signal: leaving.signal,
  }).catch(() => null) // at a process that was just killed
  if (answer === null) return null
  if (answer.status !== 200) {
    t.match(await answer.text(), `您已达到并发数限制:最多同时进行${LIMIT}个请求`)
    return null
  }
  const open: Open = { leave: () => leaving.abort(), isCut: false }
  const end = () => (open.isCut = true)
  void answer.text().then(end, end)
  return open
}

/** Fills the account's places over all gateways, then kills each of their workers, and fills those that come back. */
export async function fillAndKill(t: Test, gateways: readonly TestGateway[]): Promise<void> {
  let open: Open[] = []
  const fill = async (count: number) => {
    const asked = Array.from({ length: count }, (_, i) => ask(t, gateways[i % gateways.length] as TestGateway))
    open = [...open, ...(await Promise.all(asked)).filter(one => one !== null)].filter(({ isCut }) => !isCut)
  }
  await fill(12)
  t.equal(open.length, LIMIT, 'of twelve at once as many as the limit')
  open.pop()?.leave()
  await until('the place of one that has left is taken again', async () => {
    await fill(1)
    return open.length === LIMIT
  })
  for (const gateway of gateways)
    for (const worker of childrenOf(servingOf(gateway.child.pid as number))) {
      process.kill(worker, 'SIGKILL')
      await until('another takes its place', () => {
        const now = childrenOf(servingOf(gateway.child.pid as number))
        return now.length === 2 && !now.includes(worker)
      })
      await until('the places of the killed one are taken again', async () => {
        await fill(2)
        t.ok(open.length <= LIMIT, `${open.length} are open`)
        return open.length === LIMIT
      })
      await fill(6)
      t.equal(open.length, LIMIT, 'and no more')
    }
  for (const { leave } of open) leave()
}
