/**
 * Measures what settling takes of a small request in all threads of the gateway together, on SQLite and on a private MariaDB: the CPU time
 * of the gateway less that of one on SQLite which drops its settlements, in turns under a closed loop. One that kept them would pay
 * for their memory instead.
 */
import { startMariadb } from '../../test/support/mariadb.ts'
import { DROPPED_ROWS, leavingOut } from '../parts/ablations.ts'
import { type Probed, probed } from '../parts/probed.ts'
import { ROOT, startGateway, startUpstream } from '../parts/subjects.ts'
import { chatBody, type Workload } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor, requestsOfTurn, stopAll } from './context.ts'

type Settling = Extract<Workload, { kind: 'settling' }>

const CONNECTIONS = 32

/** Two gateways of one checkout. */
interface Pair {
  whole: Probed
  /** Drops its settlements. */
  without: Probed
}

export async function measureSettling(w: Settling, context: Context): Promise<void> {
  const mariadb = w.engine === 'MariaDB' ? await startMariadb() : null
  const upstream = await startUpstream()
  const pairs: Pair[] = []
  let databases = 0
  const start = async ({ name, root }: Context['gateways'][number], settles: boolean): Promise<Probed> => {
    const overrides = mariadb === null || !settles ? {} : { store: await mariadb.database(`settling_${++databases}`) }
    return probed(env =>
      startGateway(upstream.port, root, name, overrides, settles ? env : leavingOut(DROPPED_ROWS, env)),
    )
  }
  try {
    for (const gateway of context.gateways) {
      // the edit that leaves settling out is one of today's source, which an older checkout may not have
      const without = await start(gateway, false).catch((error: Error) => {
        if (gateway.root === ROOT) throw error
        console.error(`${w.name} of ${gateway.name} is not measured: ${error.message}`)
        return null
      })
      if (without !== null) pairs.push({ whole: await start(gateway, true), without })
    }
    for (const subject of subjectsOf(pairs)) {
      await checkAnswer(subject, chatBody(200, false), { status: 200, events: null })
      await load(subject, Math.ceil(w.warmup * context.share))
    }
    for (let turn = 0; turn < context.rounds * context.turns; turn++)
      for (const pair of pairs) await measure(w, pair, context, turn % 2 === 1)
  } finally {
    await stopAll([...subjectsOf(pairs), upstream])
    await mariadb?.stop()
  }
}

const subjectsOf = (pairs: readonly Pair[]): Probed[] => pairs.flatMap(({ whole, without }) => [whole, without])

const load = (subject: Probed, requests: number) =>
  loadRightly(orderFor(subject, { kinds: [{ body: chatBody(200, false) }], connections: CONNECTIONS, requests }))

async function measure(w: Settling, { whole, without }: Pair, context: Context, isReversed: boolean): Promise<void> {
  const requests = requestsOfTurn(w.requests, CONNECTIONS, context)
  const costOf = async (subject: Probed): Promise<number> => {
    const before = await subject.read()
    await load(subject, requests)
    const after = await subject.read()
    return (after.userUs + after.systemUs - before.userUs - before.systemUs) / requests
  }
  // each goes first in every other turn
  const [first, second] = isReversed ? [without, whole] : [whole, without]
  const [a, b] = [await costOf(first), await costOf(second)]
  const [all, kept] = isReversed ? [b, a] : [a, b]
  context.results.add(w.name, whole.name, 'cpuUs', all)
  context.results.add(w.name, whole.name, 'settlingUs', all - kept)
}
