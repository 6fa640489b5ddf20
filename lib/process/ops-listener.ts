/** Opens the ops listener of a gateway, be it of one process or of several, and lets it follow a reload. */
import { systemClock } from '../base/clock.ts'
import { idMaker } from '../base/ids.ts'
import { countDeadLetters } from '../ledger/dead-letters.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { Mailer } from '../operations/people/mail.ts'
import { type Fleet, createOpsServer } from '../admin/server.ts'
import type { Config } from '../config/config.ts'
import { listenOn } from './listening.ts'
import { lazyDesk } from './payments.ts'
import type { ServeParts } from './prepare.ts'

interface OpsListener {
  /** The address that it has, also where the config leaves the port open. */
  address: string
  /** What operations on this gateway need, for callers inside the process. */
  operations: OperationDeps
  /** Takes the admin token and the ways of mail of a new config. */
  follow(config: Config): void
  /** Accepts no new connections, because another process answers them. */
  leave(): void
  close(): Promise<void>
}

export async function openOps(
  config: Config,
  { log, metrics, store }: Pick<ServeParts, 'log' | 'metrics' | 'store'>,
  fleet: Fleet,
): Promise<OpsListener> {
  let current = config
  const mail = new Mailer({ clock: systemClock, log, smtp: () => current.smtp })
  const operations = { store, clock: systemClock, log, setAside: () => countDeadLetters(config.journal) }
  const server = createOpsServer({
    ...operations,
    fleet,
    mail,
    config: () => current,
    pay: lazyDesk({ ...operations, fleet, config: () => current, counts: metrics.pay }),
    countRefused: why => metrics.adminRefused(why),
    token: () => current.adminToken as string,
    ids: idMaker(systemClock.now),
  })
  const address = await listenOn(server, 'ops', config.listen.ops)
  return {
    address,
    operations: { ...operations, fleet },
    follow(next) {
      current = { ...next, adminToken: next.adminToken ?? current.adminToken }
    },
    leave: () => void server.close(),
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
