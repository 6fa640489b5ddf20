/** A proxy that keeps what clients send for a while before it passes it on, in order. */
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'

interface SlowProxy extends TcpProxy {
  /** For what comes from now on. */
  delayMs: number
}

export async function startSlowProxy(port: number): Promise<SlowProxy> {
  const proxy = await startTcpProxy(
    () => port,
    (_client, server) => ({
      fromClient(bytes) {
        if (slow.delayMs === 0) server.write(bytes)
        else setTimeout(() => server.writable && server.write(bytes), slow.delayMs)
      },
    }),
  )
  const slow: SlowProxy = { ...proxy, delayMs: 0 }
  return slow
}
