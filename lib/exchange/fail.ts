/** What ends an exchange from outside of its plan: a failure of ours, and the end of the client's connection. */
import type { Exchange } from './exchange.ts'
import { finish } from './finish.ts'
import { refuse } from './refuse.ts'
import type { Services } from './services.ts'

/** Something of ours broke: the client gets the 500 row where it can, and the exchange ends in any case. */
export function fail(x: Exchange, services: Services, error: unknown): void {
  services.log.error({ id: x.id, err: error }, 'exchange failed')
  try {
    if (x.relay !== null) x.relay.fail()
    else if (!x.ended && !x.left) refuse(x, services, 'internal')
  } catch (another) {
    services.log.error({ id: x.id, err: another }, 'exchange failed to fail')
    x.reply.destroy()
    finish(x, services)
  }
}

/** Does what an event asks for: what is thrown on the way ends this exchange and reaches nobody else. */
export function guard(x: Exchange, services: Services, act: () => void): void {
  try {
    act()
  } catch (error) {
    fail(x, services, error)
  }
}

/** The response's connection is done: the answer was delivered, or the client left. */
export function onClose(x: Exchange, services: Services): void {
  x.closed = true
  x.left = !x.ended
  if (x.relay === null || x.relay.closed) finish(x, services)
  else if (x.left) guard(x, services, () => x.relay?.leave())
}
