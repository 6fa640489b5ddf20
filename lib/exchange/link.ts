/** The URL of a kept picture, as the client of an exchange reaches it. It is served on the main address only. */
import type { Exchange } from './exchange.ts'

/** Where kept pictures are served; their names follow. */
export const FILES = '/files/'

/** A name or an address, perhaps with a port. The client has sent it, and it stands in an answer to this very client. */
const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

export const linkTo = (x: Exchange, name: string): string => `${addressOf(x)}${FILES}${name}`

/** Where nobody has said how the gateway is reached, it is where this client has reached it, if that was the main address. */
function addressOf({ listener, req, world }: Exchange): string {
  const { main, given } = world.config.public
  const { host = '' } = req.headers
  return !given && listener === 'main' && HOST.test(host) ? `http://${host}` : main
}
