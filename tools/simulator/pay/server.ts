/** Servers on this machine for those who play providers. */
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Teardown {
  teardown(fn: () => unknown): void
}

/** Resolves when the server listens. `port` 0, or one that is taken: any free one. */
export async function listen(t: Teardown, server: Server, port = 0): Promise<void> {
  const at = (wanted: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(wanted, '127.0.0.1', () => {
        server.off('error', reject)
        resolve()
      })
    })
  await at(port).catch(error => (port === 0 ? Promise.reject(error) : at(0)))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise(resolve => server.close(resolve))
  })
}

export const addressOf = (server: Server): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const MOST_BYTES = 1024 * 1024

export async function bodyOf(req: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of req) {
    bytes += (chunk as Buffer).length
    if (bytes > MOST_BYTES) throw new Error('too large')
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks).toString('utf8')
}
