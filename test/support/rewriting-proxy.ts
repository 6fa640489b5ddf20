/**
 * A TCP proxy in front of MySQL that says other statements than it was told, so that a sound server seems to break its
 * promises. A statement takes the place of one that is as long or longer; blanks fill the rest.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface RewritingProxy {
  port: number
  /** Where it leads; connections that exist stay where they are. */
  target: number
  close(): void
}

export interface Rewriting {
  /** What is said, and what the server hears. */
  texts?: readonly (readonly [from: string, to: string])[]
  /** Capability flags that a client asks for and the server does not hear of. */
  withoutFlags?: number
}

/** Behind the header of the first packet that a client sends. */
const FLAGS_AT = 4

export async function startRewritingProxy(port: number, rewriting: Rewriting = {}): Promise<RewritingProxy> {
  const { texts = [], withoutFlags = 0 } = rewriting
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(proxy.target, '127.0.0.1')
    let greeted = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (bytes: Buffer) => {
      if (!greeted) bytes.writeUInt32LE((bytes.readUInt32LE(FLAGS_AT) & ~withoutFlags) >>> 0, FLAGS_AT)
      greeted = true
      for (const [from, to] of texts) {
        for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, at + 1))
          bytes.write(to.padEnd(from.length), at, 'latin1')
      }
      upstream.write(bytes)
    })
    upstream.on('data', bytes => void client.write(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: RewritingProxy = {
    port: (server.address() as AddressInfo).port,
    target: port,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return proxy
}
