/** A TCP proxy in front of MySQL that can lose a COMMIT, or the answer to one, by closing the connection there. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

const COMMIT = Buffer.from('COMMIT')

export interface CommitProxy {
  port: number
  /**
   * What happens to the next COMMIT, or to that of the transaction in which these bytes were sent: `answer`: the server
   * gets it, the client hears nothing; `commit`: it never arrives. Resolves when it has happened.
   */
  loseNext(what: 'answer' | 'commit', containing?: string): Promise<void>
  close(): void
}

export async function startCommitProxy(port: number): Promise<CommitProxy> {
  let lose: { what: 'answer' | 'commit'; containing: string; done: () => void } | null = null
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    let deaf: (() => void) | null = null
    let sent = ''
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
      const commits = bytes.subarray(-6).equals(COMMIT)
      const losing = commits && lose !== null && sent.includes(lose.containing) ? lose : null
      sent = commits || lose === null ? '' : sent + bytes.toString('latin1')
      if (losing !== null) lose = null
      if (losing?.what === 'commit') {
        client.destroy()
        return losing.done()
      }
      deaf = losing?.done ?? null
      upstream.write(bytes)
    })
    upstream.on('data', bytes => {
      if (deaf === null) return void client.write(bytes)
      client.destroy()
      deaf() // the answer's arrival proves that the server has committed
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    loseNext: (what, containing = '') => new Promise(done => (lose = { what, containing, done })),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
