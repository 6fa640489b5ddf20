/** Puts the console on the main address, and counts its visits among the requests that a drain waits for. */
import { clientAddress } from '../access/ip.ts'
import { Console } from '../console/console.ts'
import { type Trial, dryRun as tryOut } from '../exchange/dry-run.ts'
import type { Services } from '../exchange/record/services.ts'
import { countDeadLetters } from '../ledger/dead-letters.ts'
import type { Running } from '../operations/deps.ts'
import type { PaymentService } from '../pay/service.ts'
import type { Pages } from '../exchange/listener/server.ts'
import type { Config } from '../config/config.ts'

export function createConsole(
  services: Services,
  fleet: Running,
  config: () => Config,
  pay: () => Promise<PaymentService>,
): Console {
  const { store, clock, log, metrics, nextId } = services
  const dryRun = (trial: Trial) => tryOut(services, trial)
  return new Console({
    deps: { store, clock, log, fleet, config, dryRun, pay, setAside: () => countDeadLetters(config().journal) },
    world: () => services.world,
    ids: nextId,
    ipOf: ({ socket, headers }) =>
      clientAddress(socket.remoteAddress, headers['x-forwarded-for'] as string | undefined, services.world.trusted),
    count: (operation, status) => metrics.consoleRequest(operation, status),
  })
}

/** The console's visits and those of payment providers. */
export function consoleVisits(services: Services, console: Console, callbacks: Pages): Pages {
  return (req, res) => {
    if (services.draining) res.shouldKeepAlive = false
    if (!console.serve(req, res) && !callbacks(req, res)) return false
    services.openCount++
    res.once('close', () => services.openCount--)
    return true
  }
}
