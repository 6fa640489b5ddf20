/** A TCP proxy in front of a server, with which a test decides what passes through. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  port: number
  close(): void
}

/** What a test does with the bytes of one connection, by direction. A direction without a function passes unchanged. */
interface Passing {
  fromClient?(bytes: Buffer): void
  fromServer?(bytes: Buffer): void
}

/**
 * `target` gives the port of the server for each new connection. When one side of a connection ends, the other is ended
 * too.
 */
export async function startTcpProxy(
  target: () => number,
  pass: (client: Socket, server: Socket) => Passing,
): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const proxy = createServer({ noDelay: true }, client => {
    const server = connect({ port: target(), host: '127.0.0.1', noDelay: true })
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
    const passing = pass(client, server)
    client.on('data', (bytes: Buffer) => (passing.fromClient ? passing.fromClient(bytes) : server.write(bytes)))
    server.on('data', (bytes: Buffer) => (passing.fromServer ? passing.fromServer(bytes) : client.write(bytes)))
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  return {
    port: (proxy.address() as AddressInfo).port,
    close() {
      proxy.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
