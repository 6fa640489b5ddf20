/**
 * Puts the addresses of payment providers' callbacks on the main address. The code is loaded at the first callback; a method
 * that is not configured has no address.
 */
import type { CallbackServer } from '../pay/callback-server.ts'
import type { PaymentParts, PaymentService } from '../pay/service.ts'
import type { Pages } from '../exchange/listener/server.ts'
import type { Config } from '../config/config.ts'
import { PAY_METHODS } from '../terms/pay.ts'

/** Returns a function that makes the desk at its first call. */
export function lazyDesk(parts: PaymentParts): () => Promise<PaymentService> {
  let desk: Promise<PaymentService> | null = null
  return () => (desk ??= import('../pay/service.ts').then(({ PaymentService }) => new PaymentService(parts)))
}

const METHOD = /^\/pay\/([a-z]+)\/?$/

export function payVisits({ clock, log, config }: PaymentParts, desk: () => Promise<PaymentService>): Pages {
  let server: Promise<CallbackServer> | null = null
  const load = async () => {
    const [{ CallbackServer }, opened] = await Promise.all([import('../pay/callback-server.ts'), desk()])
    return new CallbackServer(opened, clock, log)
  }
  return (req, res) => {
    const name = METHOD.exec(req.url as string)?.[1]
    if (name === undefined || req.method !== 'POST' || !isConfigured(config(), name)) return false
    ;(server ??= load())
      .then(loaded => loaded.serve(name, req, res))
      .catch(error => {
        log.error({ err: error }, 'callbacks cannot be taken')
        res.destroy()
      })
    return true
  }
}

/** Whether there is a way to pay of this name, and the config has its section. */
const isConfigured = ({ pay }: Config, name: string): boolean =>
  PAY_METHODS.some(method => method === name && pay[method] !== undefined)
