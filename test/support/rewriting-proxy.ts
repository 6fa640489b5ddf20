/**
 * A proxy in front of MySQL that replaces statements on their way, so that a sound server seems to break its promises.
 * The replacement must not be longer than the statement; blanks fill the rest.
 */
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

interface RewritingProxy extends TcpProxy {
  /** The port of the server for new connections; existing ones stay where they are. */
  target: number
}

export interface Rewriting {
  /** The statement that a client sends, and the one that the server gets. */
  texts?: readonly (readonly [from: string, to: string])[]
  /** Capability flags that are taken out of what a client asks for. */
  withoutFlags?: number
}

/** Where the capability flags stand: behind the header of the first packet that a client sends. */
const FLAGS_AT = 4

export async function startRewritingProxy(port: number, rewriting: Rewriting = {}): Promise<RewritingProxy> {
  const { texts = [], withoutFlags = 0 } = rewriting
  const proxy = await startTcpProxy(
    () => rewritten.target,
    (_client, server) => {
      let greeted = false
      return {
        fromClient(bytes) {
          if (!greeted) bytes.writeUInt32LE((bytes.readUInt32LE(FLAGS_AT) & ~withoutFlags) >>> 0, FLAGS_AT)
          greeted = true
          for (const [from, to] of texts) {
            for (let at = bytes.indexOf(from); at !== -1; at = bytes.indexOf(from, at + 1))
              bytes.write(to.padEnd(from.length), at, 'latin1')
          }
          server.write(bytes)
        },
      }
    },
  )
  const rewritten: RewritingProxy = { ...proxy, target: port }
  return rewritten
}
