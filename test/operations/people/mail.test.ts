/** Letters over TLS, by a real mail server with a certificate of its own: encrypted, or not at all. */
import tls from 'node:tls'
import t, { type Test } from 'tap'
import { Mailer } from '../../../lib/operations/people/mail.ts'
import { type Config, parseConfig } from '../../../lib/config/config.ts'
import { createLogger } from '../../../lib/base/log.ts'
import { TestClock } from '../../support/clock.ts'
import { type MailTls, startMailServer } from '../../../tools/simulator/mail-server.ts'
import { until } from '../../support/wait.ts'
import { certificate } from '../../upstream/support.ts'

const LETTER = { from: 'Galaxy', to: 'bob@example.com', subject: 'A subject', text: 'A secret: #abc' }
const SYSTEM = tls.getCACertificates('default')

type Security = NonNullable<Config['smtp']>['security']

async function send(t: Test, offered: MailTls | null, security: Security, host = 'localhost') {
  const server = await startMailServer(t, offered)
  const settings = { host, port: server.port, security, from: 'gateway@example.com', user: 'me', password: 'pw' }
  const { smtp } = parseConfig(JSON.stringify({ smtp: settings }), 'test.yaml', {})
  const logged: string[] = []
  const clock = new TestClock()
  const log = createLogger('info', { write: (line: string) => void logged.push(line) } as never)
  const mailer = new Mailer({ clock, log, smtp: () => smtp })
  mailer.send(LETTER)
  let done = false
  void mailer.idle().then(() => {
    done = true
  })
  await until('it has gone, or was given up', () => {
    clock.advance(1_000)
    return done
  })
  return { ...server, logged }
}

t.test('both ways to encrypt', async t => {
  const pair = certificate(t)
  tls.setDefaultCACertificates([...SYSTEM, pair.cert])
  t.teardown(() => tls.setDefaultCACertificates(SYSTEM))
  for (const mode of ['tls', 'starttls'] as const) {
    const { letters, plain, logged } = await send(t, { mode, ...pair }, mode)
    t.match(letters, [{ to: LETTER.to, text: /A secret: #abc/, login: 'me:pw', encrypted: 'TLSv1.3' }], mode)
    t.notMatch(plain.join('\n'), /AUTH|MAIL|bob@|secret/, 'nothing that matters could be read on the way')
    t.same(logged, [])
  }
})

t.test('without encryption only where the config says so', async t => {
  const { letters } = await send(t, null, 'none')
  t.match(letters, [{ to: LETTER.to, encrypted: null }])
})

t.test('a server that is not the one that was meant gets nothing', async t => {
  const pair = certificate(t)
  const other = certificate(t, 'DNS:elsewhere.example')
  const known = (...certs: string[]) => tls.setDefaultCACertificates([...SYSTEM, ...certs])
  t.teardown(() => tls.setDefaultCACertificates(SYSTEM))
  const rows: [what: string, trusted: string[], offered: MailTls | null, security: Security][] = [
    ['nobody vouches for it (tls)', [], { mode: 'tls', ...pair }, 'tls'],
    ['nobody vouches for it (starttls)', [], { mode: 'starttls', ...pair }, 'starttls'],
    ['another name (tls)', [other.cert], { mode: 'tls', ...other }, 'tls'],
    ['another name (starttls)', [other.cert], { mode: 'starttls', ...other }, 'starttls'],
    ['the offer was taken out on the way', [pair.cert], null, 'starttls'],
    ['plain where encryption is meant', [pair.cert], null, 'tls'],
  ]
  for (const [what, trusted, offered, security] of rows) {
    known(...trusted)
    const { letters, plain, logged } = await send(t, offered, security)
    t.same(letters, [], what)
    t.notMatch(plain.join('\n'), /AUTH|MAIL FROM|bob@|secret/, what)
    t.equal(logged.length, 1, what)
    t.match(logged[0], 'a letter could not be sent', what)
    t.notMatch(logged[0], /bob@|"pw"|secret/, what)
  }
})
