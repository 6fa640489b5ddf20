/** A proxy in front of MySQL that can lose a COMMIT, or the answer to one, by closing the connection at that moment. */
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

const COMMIT = Buffer.from('COMMIT')

export interface CommitProxy extends TcpProxy {
  /**
   * Loses the next COMMIT, or the COMMIT of the transaction in which these bytes were sent. `answer`: the server
   * commits, but the client gets no answer. `commit`: the COMMIT never reaches the server. Resolves when it has
   * happened.
   */
  loseNext(what: 'answer' | 'commit', containing?: string): Promise<void>
}

export async function startCommitProxy(port: number): Promise<CommitProxy> {
  let lose: { what: 'answer' | 'commit'; containing: string; done: () => void } | null = null
  const proxy = await startTcpProxy(
    () => port,
    (client, server) => {
      let deaf: (() => void) | null = null
      let sent = ''
      return {
        fromClient(bytes) {
          const commits = bytes.subarray(-6).equals(COMMIT)
          const losing = commits && lose !== null && sent.includes(lose.containing) ? lose : null
          sent = commits || lose === null ? '' : sent + bytes.toString('latin1')
          if (losing !== null) lose = null
          if (losing?.what === 'commit') {
            client.destroy()
            return losing.done()
          }
          deaf = losing?.done ?? null
          server.write(bytes)
        },
        fromServer(bytes) {
          if (deaf === null) return void client.write(bytes)
          client.destroy()
          deaf() // an answer has come, so the server has committed
        },
      }
    },
  )
  return {
    ...proxy,
    loseNext: (what, containing = '') => new Promise(done => (lose = { what, containing, done })),
  }
}
