/** A TCP proxy in front of MySQL that can lose a COMMIT, or the answer to one, by closing the connection there. */
import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

const COMMIT = Buffer.from('COMMIT')

export interface CommitProxy {
  port: number
  /** What happens to the next COMMIT: `answer`: the server gets it, the client hears nothing; `commit`: it never arrives. */
  loseNext(what: 'answer' | 'commit'): void
  close(): void
}

export async function startCommitProxy(port: number): Promise<CommitProxy> {
  let lose: 'answer' | 'commit' | null = null
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    let deaf = false
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
      const losing = bytes.subarray(-6).equals(COMMIT) ? lose : null
      if (losing !== null) lose = null
      if (losing === 'commit') return void client.destroy()
      if (losing === 'answer') deaf = true
      upstream.write(bytes)
    })
    // The answer's arrival proves that the server has committed.
    upstream.on('data', bytes => void (deaf ? client.destroy() : client.write(bytes)))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as { port: number }).port,
    loseNext: what => void (lose = what),
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
