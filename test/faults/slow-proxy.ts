/** A TCP proxy that keeps what clients send for a while before it passes it on, in order. */
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface SlowProxy {
  port: number
  /** For what comes from now on. */
  delayMs: number
  close(): void
}

export async function startSlowProxy(port: number): Promise<SlowProxy> {
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', bytes => {
      if (proxy.delayMs === 0) upstream.write(bytes)
      else setTimeout(() => upstream.writable && upstream.write(bytes), proxy.delayMs)
    })
    upstream.on('data', bytes => void client.write(bytes))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: SlowProxy = {
    port: (server.address() as AddressInfo).port,
    delayMs: 0,
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
  return proxy
}
