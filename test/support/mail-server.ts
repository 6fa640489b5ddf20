/** A mail server that takes every letter and keeps it. It speaks the part of SMTP (RFC 5321) that a client needs. */

import type { AddressInfo } from 'node:net'
import net from 'node:net'

export interface Mail {
  to: string
  /** Headers and text, as they were sent. */
  data: string
  /** The text, decoded. */
  text: string
}

export interface MailServer {
  port: number
  letters: Mail[]
  /** Answers the next letter with this line in the place of taking it. */
  refuseNext(line: string): void
}

export async function startMailServer(t: { teardown(fn: () => unknown): void }): Promise<MailServer> {
  const letters: Mail[] = []
  const refusals: string[] = []
  const sockets = new Set<net.Socket>()
  const server = net.createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => {})
    talk(socket, letters, refusals)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port, letters, refuseNext: line => void refusals.push(line) }
}

function talk(socket: net.Socket, letters: Mail[], refusals: string[]): void {
  let waiting = ''
  let to = ''
  let inData = false
  const say = (line: string) => socket.write(`${line}\r\n`)
  say('220 test ESMTP')
  socket.on('data', chunk => {
    waiting += chunk.toString('utf8')
    for (;;) {
      const end = waiting.indexOf(inData ? '\r\n.\r\n' : '\r\n')
      if (end < 0) return
      const piece = waiting.slice(0, end)
      waiting = waiting.slice(end + (inData ? 5 : 2))
      if (inData) {
        inData = false
        letters.push({ to, data: piece, text: textOf(piece) })
        say('250 taken')
      } else if (/^EHLO/i.test(piece)) say('250-test\r\n250 8BITMIME')
      else if (/^RCPT TO:<(.*)>/i.test(piece)) {
        to = /<(.*)>/.exec(piece)?.[1] ?? ''
        say(refusals.shift() ?? '250 ok')
      } else if (/^DATA/i.test(piece)) {
        inData = true
        say('354 go on')
      } else if (/^QUIT/i.test(piece)) {
        say('221 bye')
        socket.end()
      } else say('250 ok')
    }
  })
}

function textOf(data: string): string {
  const at = data.indexOf('\r\n\r\n')
  const [head, body] = [data.slice(0, at), data.slice(at + 4)]
  if (/content-transfer-encoding: base64/i.test(head)) return Buffer.from(body, 'base64').toString('utf8')
  if (!/content-transfer-encoding: quoted-printable/i.test(head)) return body
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(bytes, 'latin1').toString('utf8')
}
