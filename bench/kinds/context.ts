/** What every kind of measurement is given. */
import type { Order } from '../load/order.ts'
import { runLoad } from '../load/run.ts'
import { type Probed, probed } from '../parts/probed.ts'
import { KEY, type Subject, startGateway } from '../parts/subjects.ts'
import type { Results } from '../report/results.ts'

export interface Context {
  results: Results
  rounds: number
  /**
   * How many turns of the subjects a round is cut into, in closed loops. What else the machine does falls upon all of them where turns
   * are short.
   */
  turns: number
  /** The factor for all counts of requests: 1, or less for a quick look. */
  share: number
  /** The working tree and, with --against, another checkout before it. */
  gateways: { name: string; root: string }[]
  /** A checkout of the last commit, for workloads that measure it too. */
  previous: { name: string; root: string } | null
  /** Whether the bare relay and nginx are measured too. */
  floors: boolean
  /** Requests per second in an open loop; null = as the workload says. */
  rate: number | null
}

/** The requests of one turn, of so many of a round. */
export const requestsOfTurn = (requests: number, connections: number, { share, turns }: Context): number =>
  Math.max(Math.min(requests, connections), Math.ceil((requests * share) / turns))

export const startProbed = (
  { name, root }: Context['gateways'][number],
  upstreamPort: number,
  overrides: object = {},
): Promise<Probed> => probed(env => startGateway(upstreamPort, root, name, overrides, env))

export async function startGateways({ gateways }: Context, upstreamPort: number): Promise<Probed[]> {
  const started: Probed[] = []
  for (const gateway of gateways) started.push(await startProbed(gateway, upstreamPort))
  return started
}

export const orderFor = (
  subject: Subject,
  rest: Partial<Order> & { kinds: Order['kinds']; requests: number },
): Order => ({
  host: '127.0.0.1',
  ports: [subject.port],
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
  ...rest,
})

/** Runs a load; throws when any answer was not as expected. */
export async function loadRightly(order: Order) {
  const outcome = await runLoad(order)
  if (outcome.failed > 0)
    throw new Error(`port ${order.ports}: ${outcome.failed} of ${outcome.done} answers were not as they should be`)
  return outcome
}

export const stopAll = async (parts: { stop(): Promise<void> }[]): Promise<void> => {
  for (const part of parts) await part.stop()
}
