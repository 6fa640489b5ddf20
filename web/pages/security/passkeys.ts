/** The reader's passkeys: made by this browser, renamed and deleted. The first factor comes with recovery codes. */
import { type Signal, signal } from '@preact/signals'
import { get, send } from '../../base/ask.ts'
import { a, button, type Child, div, h2, p, section, span } from '../../base/element.ts'
import { load } from '../../base/load.ts'
import { say, type View } from '../../base/page.ts'
import { me, recognise } from '../../base/session.ts'
import type { NewPasskey, Passkey } from '../../base/shapes.ts'
import { moment } from '../../base/time.ts'
import { words } from '../../base/words.ts'
import { badge } from '../../parts/badge.ts'
import { buttons, dialogBox } from '../../parts/dialog.ts'
import { textField } from '../../parts/field.ts'
import { formOf } from '../../parts/form.ts'
import { rows } from '../../parts/listing.ts'
import { passkeysWork } from '../../parts/sign-in-form.ts'
import { empty, told, whenLoaded } from '../../parts/state.ts'
import { agentName } from './agent.ts'
import { recoveryCodes } from './factor.ts'

const w = words({
  title: ['通行密钥', 'Passkeys'],
  lead: [
    '用指纹、面容、PIN 或安全密钥登录，不需要密码。添加后，用密码登录还需要第二步。',
    'Sign in with a finger, a face, a PIN or a security key, and without the password. Once there is one, a password alone signs nobody in: it takes a second step.',
  ],
  cannot: [
    '此浏览器或此地址不支持通行密钥：需要较新的浏览器，以及带域名的 https 地址（本机可用 http://localhost）。',
    'They do not work in this browser, or at this address: they need a recent browser, and https with the name of a host (on this machine, http://localhost).',
  ],
  move: [(at: string) => `打开 ${at}`, (at: string) => `Open ${at}`],
  none: ['还没有通行密钥。', 'There is no passkey yet.'],
  add: ['添加通行密钥', 'Add a passkey'],
  name: ['名称', 'Name'],
  hint: ['便于以后辨认。接下来浏览器会请您确认。', 'By which you recognise it. Then your browser asks you to confirm.'],
  codesFollow: [
    '随后会显示恢复码，请准备好保存的地方。',
    'Recovery codes are shown afterwards: have a safe place for them ready.',
  ],
  goOn: ['继续', 'Go on'],
  cancel: ['取消', 'Cancel'],
  added: ['通行密钥已添加', 'The passkey is added'],
  synced: ['多设备同步', 'Synced'],
  single: ['仅此设备', 'One device'],
  since: ['添加时间', 'Added'],
  used: ['最近使用', 'Last used'],
  never: ['从未', 'never'],
  action: ['操作', 'Action'],
  rename: ['重命名', 'Rename'],
  renameOf: [(name: string) => `重命名 ${name}`, (name: string) => `Rename ${name}`],
  renamed: ['已重命名', 'Renamed'],
  save: ['保存', 'Save'],
  remove: ['删除', 'Delete'],
  removeOf: [(name: string) => `删除 ${name}`, (name: string) => `Delete ${name}`],
  removed: ['通行密钥已删除', 'The passkey is deleted'],
  sure: [
    '删除后，不能再用它登录。请同时在设备或密码管理器中删除它。',
    'It then signs nobody in. Delete it on the device or in the password manager, too.',
  ],
})

export function passkeysPanel(): View {
  const passkeys = load(() => get<{ data: Passkey[] }>('/me/passkeys'))
  const adding = signal(false)
  const renaming = signal<Passkey | null>(null)
  const removing = signal<Passkey | null>(null)
  const codes = signal<string[] | null>(null)
  const changed = async (text: string) => {
    passkeys.again()
    await recognise()
    say(text)
  }
  const addition = additionDialog(adding, codes, changed)
  const renamings = renamingDialog(renaming, changed)
  const removals = removalDialog(removing, changed)
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'passkeys' },
      div(
        { class: 'spread' },
        h2({ id: 'passkeys' }, w.title()),
        passkeysWork() && button({ type: 'button', class: 'small', onClick: () => (adding.value = true) }, w.add()),
      ),
      p({ class: 'soft' }, w.lead()),
      !passkeysWork() && told('plain', w.cannot(), atLocalhost()),
      whenLoaded(passkeys, ({ data }) =>
        data.length === 0 ? empty('key', w.none()) : table(data, renaming, removing),
      ),
      adding.value && addition(),
      renaming.value && renamings(),
      removing.value && removals(),
      codes.value && recoveryCodes(codes.value, () => (codes.value = null)),
    )
}

/** A link to this page by the name of the machine: browsers have passkeys for `localhost`, and none for an address of numbers. */
function atLocalhost(): Child {
  const at = new URL(location.href)
  if (at.hostname !== '127.0.0.1') return null
  at.hostname = 'localhost'
  return [' ', a({ href: at.href }, w.move(at.host))]
}

const table = (data: Passkey[], renaming: Signal<Passkey | null>, removing: Signal<Passkey | null>) =>
  rows<Passkey>({
    caption: w.title(),
    keyOf: ({ id }) => id,
    rows: data,
    columns: [
      {
        title: w.name(),
        cell: ({ name, synced }) =>
          div({ class: 'row' }, span({}, name), synced ? badge('good', w.synced()) : badge('plain', w.single())),
      },
      { title: w.since(), cell: ({ created_at }) => moment(created_at) },
      { title: w.used(), cell: ({ used_at }) => (used_at === null ? w.never() : moment(used_at)) },
      {
        title: w.action(),
        narrow: 'plain',
        cell: passkey =>
          div(
            { class: 'row' },
            act(w.rename(), w.renameOf(passkey.name), () => (renaming.value = passkey)),
            act(w.remove(), w.removeOf(passkey.name), () => (removing.value = passkey)),
          ),
      },
    ],
  })

const act = (text: string, label: string, onClick: () => void) =>
  button({ type: 'button', class: 'small', 'aria-label': label, onClick }, text)

type Changed = (text: string) => Promise<void>

function additionDialog(adding: Signal<boolean>, codes: Signal<string[] | null>, changed: Changed): View {
  const name = signal(agentName(navigator.userAgent))
  const form = formOf(async () => {
    const { newPasskey } = await import('../../parts/passkey.ts')
    const passkey = await newPasskey(await send('POST', '/me/passkeys/challenge'))
    const { recovery_codes } = await send<NewPasskey>('POST', '/me/passkeys', { name: name.value.trim(), passkey })
    adding.value = false
    codes.value = recovery_codes
    await changed(w.added())
  })
  const close = () => (adding.value = false)
  return () => {
    const hint = me.value?.second_factor === false ? `${w.hint()} ${w.codesFollow()}` : w.hint()
    return dialogBox(w.add(), close, nameForm(form, name, close, w.goOn(), hint))
  }
}

function renamingDialog(renaming: Signal<Passkey | null>, changed: Changed): View {
  const name = signal('')
  let of: Passkey | null = null
  const form = formOf(async () => {
    await send('PATCH', `/me/passkeys/${encodeURIComponent(of?.id ?? '')}`, { name: name.value.trim() })
    renaming.value = null
    await changed(w.renamed())
  })
  const close = () => (renaming.value = null)
  return () => {
    if (of !== renaming.value) {
      of = renaming.value
      name.value = of?.name ?? ''
    }
    return dialogBox(w.rename(), close, nameForm(form, name, close, w.save()))
  }
}

const nameForm = (
  form: ReturnType<typeof formOf>,
  name: Signal<string>,
  close: () => void,
  submit: string,
  hint?: string,
) =>
  form.view(
    'tall',
    textField({ name: 'name', label: w.name(), hint, error: form.error('name') }, name, { autoComplete: 'off' }),
    buttons(button({ type: 'button', onClick: close }, w.cancel()), form.submit('main', submit)),
  )

function removalDialog(removing: Signal<Passkey | null>, changed: Changed): View {
  const form = formOf(async () => {
    await send('DELETE', `/me/passkeys/${encodeURIComponent(removing.value?.id ?? '')}`)
    removing.value = null
    await changed(w.removed())
  })
  const close = () => (removing.value = null)
  return () =>
    dialogBox(
      w.removeOf(removing.value?.name ?? ''),
      close,
      p({}, w.sure()),
      form.view(
        'tall',
        buttons(button({ type: 'button', onClick: close }, w.cancel()), form.submit('danger main', w.remove())),
      ),
    )
}
