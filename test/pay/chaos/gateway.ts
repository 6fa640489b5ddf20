/** A gateway of the run: the desk of payments, and a listener for callbacks. It may die, and another one takes its place. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CallbackServer } from '../../../lib/pay/callback-server.ts'
import { PaymentService } from '../../../lib/pay/service.ts'
import type { Store } from '../../../lib/store/store.ts'
import { parseConfig } from '../../../lib/config/config.ts'
import type { Logger } from '../../../lib/base/log.ts'
import type { OrderMethod } from '../../../lib/terms/pay.ts'
import { PayTallies } from '../../../lib/terms/tallies.ts'
import { TestFleet } from '../../admin/support.ts'
import type { TestClock } from '../../support/clock.ts'
import { isTaken, type Sent } from '../providers.ts'
import { type Mortal, mortal } from './mortal.ts'

export interface GatewayParts {
  store: Store
  clock: TestClock
  log: Logger
  section: object
}

const BOUNDS = { order_limit: '50000', day_limit: '100000000' }

export class ChaosGateway {
  readonly mortal: Mortal
  readonly desk: PaymentService
  readonly counts: PayTallies
  readonly #server: Server
  readonly #url: string

  private constructor(server: Server, { store, clock, log, section }: GatewayParts, counts: PayTallies) {
    this.#server = server
    this.counts = counts
    this.#url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    this.mortal = mortal(store, () => clock.now())
    const config = parseConfig(JSON.stringify({ public: { main: this.#url }, pay: { ...BOUNDS, ...section } }), 'c', {})
    const setAside = () => ({ settlements: 0, unreadable: 0, journals: 0 })
    const parts = { store: this.mortal.store, clock, log, fleet: new TestFleet(), setAside, counts }
    this.desk = new PaymentService({ ...parts, config: () => config })
    const callbacks = new CallbackServer(this.desk, clock, log)
    server.on('request', (req, res) => callbacks.serve((req.url as string).split('/')[2] as string, req, res))
  }

  static async open(parts: GatewayParts, counts = new PayTallies()): Promise<ChaosGateway> {
    const server = createServer()
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const gateway = new ChaosGateway(server, parts, counts)
    await gateway.desk.methods()
    return gateway
  }

  /** Whether the provider is told that its callback was taken. A gateway that died tells nobody anything. */
  async deliver(method: OrderMethod, { headers, body }: Sent): Promise<boolean> {
    try {
      const answer = await fetch(`${this.#url}/pay/${method}`, { method: 'POST', headers, body })
      return isTaken(method, answer.status, await answer.text())
    } catch {
      return false
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
