/** Profile: name, e-mail, language, theme, and how to leave. */
import { signal } from '@preact/signals'
import { send } from '../base/ask.ts'
import { button, dd, div, dl, dt, h2, p, section, span } from '../base/element.ts'
import type { Theme } from '../shared/given.ts'
import { say, type View } from '../base/page.ts'
import { badge } from '../parts/badge.ts'
import { buttons, dialogBox } from '../parts/dialog.ts'
import { selectField, textField } from '../parts/field.ts'
import { formOf } from '../parts/form.ts'
import { roleName } from '../parts/roles.ts'
import { type Me, me } from '../base/session.ts'
import { chooseLanguage, chooseTheme, theme } from '../base/settings.ts'
import { language, words } from '../base/words.ts'

const w = words({
  about: ['基本信息', 'About you'],
  name: ['姓名', 'Name'],
  email: ['邮箱', 'E-mail'],
  save: ['保存', 'Save'],
  saved: ['已保存', 'Saved'],
  looks: ['显示', 'Display'],
  language: ['语言', 'Language'],
  theme: ['外观', 'Theme'],
  system: ['跟随系统', 'As the system'],
  light: ['浅色', 'Light'],
  dark: ['深色', 'Dark'],
  accounts: ['所属账户', 'Your accounts'],
  noAccounts: ['您还不属于任何账户。', 'You are in no account yet.'],
  operator: ['运营人员', 'Operator'],
  newEmail: ['新邮箱', 'New e-mail'],
  changeEmail: ['更改邮箱', 'Change the e-mail'],
  changeEmailLead: [
    '我们会向新邮箱发送一封带链接的邮件，打开链接后生效。',
    'A letter with a link goes to the new address. It counts when you have followed the link.',
  ],
  sent: ['如果该地址可用，邮件已发出', 'If the address can be used, a letter is on its way'],
  cancel: ['取消', 'Cancel'],
  send: ['发送', 'Send'],
  leave: ['删除用户', 'Delete your user'],
  leaveLead: [
    '您将无法再登录。操作日志会保留您做过的更改，但不再显示您的身份。',
    'You can no longer sign in. The log of actions keeps what you changed, and not who you were.',
  ],
  leaveName: [(email: string) => `输入 ${email} 以确认`, (email: string) => `Type ${email} to confirm`],
  differs: ['与邮箱不一致', 'That is not your e-mail'],
})

export default function profile(): View {
  const panels = [aboutPanel(), looksPanel(), accountsPanel, leavePanel()]
  return () => panels.map(panel => panel())
}

function aboutPanel(): View {
  const name = signal(me.value?.name ?? '')
  const email = signal('')
  const asking = signal(false)
  const form = formOf(async () => {
    me.value = await send<Me>('PATCH', '/me', { name: name.value.trim() })
    say(w.saved())
  })
  const letter = formOf(async () => {
    await send('POST', '/me/email', { email: email.value.trim() })
    asking.value = false
    say(w.sent())
  })
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'about' },
      h2({ id: 'about' }, w.about()),
      dl(
        { class: 'pairs' },
        dt({}, w.email()),
        dd(
          { class: 'row' },
          span({}, me.value?.email),
          me.value?.operator && badge('plain', w.operator()),
          button({ type: 'button', class: 'small', onClick: () => (asking.value = true) }, w.changeEmail()),
        ),
      ),
      form.view(
        'tall narrow',
        textField({ name: 'name', label: w.name(), error: form.error('name') }, name, { autoComplete: 'name' }),
        form.submit('main', w.save()),
      ),
      asking.value &&
        dialogBox(
          w.changeEmail(),
          () => (asking.value = false),
          p({ class: 'soft' }, w.changeEmailLead()),
          letter.view(
            'tall',
            textField({ name: 'email', label: w.newEmail(), error: letter.error('email') }, email, {
              type: 'email',
              autoComplete: 'email',
            }),
            buttons(
              button({ type: 'button', onClick: () => (asking.value = false) }, w.cancel()),
              letter.submit('main', w.send()),
            ),
          ),
        ),
    )
}

/** Chosen for this browser at once, and kept with the user for letters and for other browsers. */
function looksPanel(): View {
  const chosen = { language: signal<string>(language.value), theme: signal<string>(theme.value) }
  const keep = async (change: object) => {
    me.value = await send<Me>('PATCH', '/me', change)
    say(w.saved())
  }
  chosen.language.subscribe(value => {
    if (value !== language.peek()) {
      chooseLanguage(value as 'zh' | 'en')
      void keep({ language: value })
    }
  })
  chosen.theme.subscribe(value => {
    if (value !== theme.peek()) {
      chooseTheme(value as Theme)
      void keep({ theme: value })
    }
  })
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'looks' },
      h2({ id: 'looks' }, w.looks()),
      div(
        { class: 'filters' },
        selectField({ name: 'language', label: w.language() }, chosen.language, [
          { value: 'zh', text: '中文' },
          { value: 'en', text: 'English' },
        ]),
        selectField({ name: 'theme', label: w.theme() }, chosen.theme, [
          { value: 'system', text: w.system() },
          { value: 'light', text: w.light() },
          { value: 'dark', text: w.dark() },
        ]),
      ),
    )
}

const accountsPanel: View = () =>
  section(
    { class: 'panel', 'aria-labelledby': 'accounts' },
    h2({ id: 'accounts' }, w.accounts()),
    me.value?.accounts.length === 0
      ? p({ class: 'soft' }, w.noAccounts())
      : dl(
          { class: 'pairs' },
          (me.value?.accounts ?? []).map(({ id, name, role }) => [
            dt({ key: `${id} name` }, name),
            dd({ key: id }, roleName(role)),
          ]),
        ),
  )

function leavePanel(): View {
  const sure = signal(false)
  const typed = signal('')
  const form = formOf(async () => {
    if (typed.value.trim() !== me.value?.email) {
      form.refuse('typed', w.differs())
      return
    }
    await send('DELETE', '/me')
    location.assign('/console')
  })
  return () =>
    section(
      { class: 'panel', 'aria-labelledby': 'leave' },
      h2({ id: 'leave' }, w.leave()),
      p({ class: 'soft' }, w.leaveLead()),
      p({}, button({ type: 'button', class: 'danger', onClick: () => (sure.value = true) }, w.leave())),
      sure.value &&
        dialogBox(
          w.leave(),
          () => (sure.value = false),
          p({}, w.leaveLead()),
          form.view(
            'tall',
            textField({ name: 'typed', label: w.leaveName(me.value?.email ?? ''), error: form.error('typed') }, typed, {
              autoComplete: 'off',
            }),
            buttons(
              button({ type: 'button', onClick: () => (sure.value = false) }, w.cancel()),
              form.submit('danger main', w.leave()),
            ),
          ),
        ),
    )
}
