/**
 * A proxy in front of MySQL that says other statements than it was told, so that a sound server seems to break its
 * promises. A statement takes the place of one that is as long or longer; blanks fill the rest.
 */
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

interface RewritingProxy extends TcpProxy {
  /** Where it leads; connections that exist stay where they are. */
  target: number
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
