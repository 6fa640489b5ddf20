/** What stands in the place of a provider: a server on a free port of this machine, until the test ends. */
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export async function listenFor(t: { teardown(end: () => void): unknown }, server: Server): Promise<void> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
}

export const originOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
