/** A TCP proxy in front of a server: what passes through it is in the test's hands. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  port: number
  close(): void
}

/** What happens to the bytes of one connection; without a hand of its own a direction is passed on as it is. */
interface Passing {
  fromClient?(bytes: Buffer): void
  fromServer?(bytes: Buffer): void
}

/** `target`: the port of the server, asked at each connection. When one side of a connection ends, so does the other. */
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
