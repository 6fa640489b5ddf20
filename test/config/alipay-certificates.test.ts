/** Alipay's certificate mode in the config: all of it or nothing, and certificates that belong to each other. */
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { stringify } from 'yaml'
import { ConfigError, parseConfig } from '../../lib/config/config.ts'
import { keyPair } from '../../tools/simulator/pay/keys.ts'
import { alipayFiles } from '../pay/doubles/alipay-certificates.ts'
import { certificateOf } from '../support/certificates.ts'

const [app, alipay, stranger] = [keyPair(), keyPair(), keyPair()]
const files = alipayFiles(app.privateKey, alipay.privateKey)
const base = { app_id: '2021000000000001', seller_id: '2088000000000001', private_key: app.privateKey }
const publicKey = { alipay_public_key: alipay.publicKey }

const problem = (keys: object): string => {
  try {
    parseConfig(
      stringify({ public: { main: 'https://a.example' }, pay: { alipay: { ...base, ...keys } } }),
      'g.yaml',
      {},
    )
    return ''
  } catch (error) {
    return error instanceof ConfigError ? error.message : String(error)
  }
}

const of = (key: string, more: object = {}): string => certificateOf({ subject: '/CN=x', key, ...more })
const [leaf, ...between] = files.alipay_cert.split(/(?<=-----END CERTIFICATE-----\n)/) as [string, ...string[]]
const curve = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'pem' })

t.test('public key or certificates', t => {
  t.equal(problem(publicKey), '')
  t.equal(problem(files), '')
  t.match(problem({}), /alipay_public_key: expected Alipay’s public key, or all of `app_cert`, .*certificate mode/)
  t.match(problem({ ...files, ...publicKey }), /alipay_public_key: expected nothing beside `app_cert`/)
  for (const name of Object.keys(files)) {
    const part = Object.fromEntries(Object.entries(files).filter(([key]) => key !== name))
    t.match(problem(part), new RegExp(`pay.alipay.${name}: expected a file: certificate mode needs all of`))
    t.match(problem({ ...part, ...publicKey }), /alipay_public_key: expected nothing beside/)
    for (const blank of ['', ' ', null]) t.match(problem({ ...files, [name]: blank }), new RegExp(`alipay.${name}`))
  }
  t.end()
})

t.test('which certificates are taken', t => {
  const rows: [name: string, change: Partial<typeof files>, said: RegExp | null][] = [
    [
      'with texts around them',
      { alipay_root_cert: `Roots\r\n${files.alipay_root_cert.replaceAll('\n', '\r\n')}` },
      null,
    ],
    [
      'the key of a stranger',
      { app_cert: of(stranger.privateKey) },
      /app_cert: expected the certificate of `private_key`/,
    ],
    ['both files the other way round', { app_cert: leaf, alipay_cert: files.app_cert }, /app_cert.*private_key/],
    ['our own as Alipay’s', { alipay_cert: files.app_cert }, /alipay_cert: expected Alipay’s certificate, not the app/],
    [
      'without the one that signed it',
      { alipay_cert: leaf },
      /alipay_cert: .*`alipay_root_cert` has signed.*whole file/,
    ],
    [
      'the one that signed it alone',
      { alipay_cert: between.join('') },
      /alipay_cert: expected the certificate of an RSA/,
    ],
    ['signed by itself', { alipay_cert: of(alipay.privateKey) }, /alipay_cert: .*`alipay_root_cert` has signed/],
    ['signed by itself, twice', { alipay_cert: of(alipay.privateKey).repeat(2) }, /`alipay_root_cert` has signed/],
    ['other roots', { alipay_root_cert: of(stranger.privateKey, { ca: true }) }, /`alipay_root_cert` has signed/],
    [
      'roots of the same name and another key',
      {
        alipay_root_cert: certificateOf({
          subject: '/C=CN/O=Test Financial/OU=Certification Authority/CN=Test Financial Certification Authority R1',
          key: stranger.privateKey,
          ca: true,
        }),
      },
      /`alipay_root_cert` has signed/,
    ],
    ['roots without RSA', { alipay_root_cert: of(String(curve), { ca: true }) }, /alipay_root_cert: .*signed by RSA/],
    [
      'a root that is none',
      { alipay_root_cert: files.app_cert },
      /alipay_root_cert: expected certificates of authorities/,
    ],
    ['too short a key', { app_cert: of(keyPair(1024).privateKey) }, /app_cert: .*2048 bits/],
    ['a key of another kind', { app_cert: of(String(curve)) }, /app_cert: .*RSA/],
    ['a public key', { app_cert: app.publicKey }, /app_cert: expected the certificate/],
    [
      'a certificate that is cut off',
      { app_cert: files.app_cert.replace(/.{99}\n(?=-----END)/s, '\n') },
      /app_cert: expected/,
    ],
    ['too many', { alipay_root_cert: files.alipay_root_cert.repeat(11) }, /alipay_root_cert: expected/],
  ]
  for (const [name, change, said] of rows)
    if (said === null) t.equal(problem({ ...files, ...change }), '', name)
    else t.match(problem({ ...files, ...change }), said, name)
  t.end()
})

t.test('Alipay’s test environment signs with an authority that its roots do not have', t => {
  const other = { alipay_cert: of(alipay.privateKey), sandbox: true }
  t.equal(problem({ ...files, ...other }), '')
  t.match(problem({ ...files, ...other, app_cert: of(stranger.privateKey) }), /app_cert/)
  t.end()
})

t.test('no problem shows a private key', t => {
  for (const name of Object.keys(files))
    for (const text of [stranger.privateKey, `${files.app_cert}${stranger.privateKey}`]) {
      const said = problem({ ...files, [name]: text })
      t.match(said, new RegExp(name))
      t.notMatch(said, /MII|PRIVATE/)
    }
  t.end()
})
