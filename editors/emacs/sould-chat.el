;;; sould-chat.el --- Talk to an agent  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; A buffer for each session: above, what was said and done, with questions and their buttons in place; below, what you type.  Text
;; comes in without moving point, and no window is selected but by the commands that say so.

;;; Code:

(require 'button)
(require 'diff-mode)
(require 'sould-inbox)
(require 'sould-project)
(require 'sould-words)

(defface sould-chat-user '((t :inherit font-lock-keyword-face :weight bold))
  "What you said."
  :group 'sould)
(defface sould-chat-thought '((t :inherit shadow :slant italic))
  "What an agent thinks."
  :group 'sould)
(defface sould-chat-tool '((t :inherit font-lock-type-face))
  "What an agent does."
  :group 'sould)
(defface sould-chat-question '((t :inherit warning :weight bold))
  "What an agent asks."
  :group 'sould)
(defface sould-chat-note '((t :inherit shadow))
  "What sould says itself."
  :group 'sould)

(defvar-local sould-chat--session nil "The session of this buffer.")
(defvar-local sould-chat--end nil "Where the next text goes.")
(defvar-local sould-chat--input nil "Where the input begins.")
(defvar-local sould-chat--last nil "What was added last: a symbol for its kind.")
(defvar-local sould-chat--calls nil "Places of tool calls, by id.")
(defvar-local sould-chat--questions nil "Places of open questions: (QUESTION BEGIN BUTTONS . END).")

(defconst sould-chat--most-compared 100000 "Pairs of lines that are compared for a diff at most.")

(defcustom sould-chat-output-lines 12
  "Lines of what a tool printed that the chat shows; a question is shown whole."
  :type 'natnum
  :group 'sould)

(defcustom sould-chat-display-action nil
  "How `display-buffer' shows the chat when a prompt is sent from elsewhere."
  :type display-buffer--action-custom-type
  :risky t
  :group 'sould)

(defcustom sould-chat-history-length 200
  "How many of your messages the chat remembers."
  :type 'natnum
  :group 'sould)

(defcustom sould-announce-questions t
  "Whether a question of an agent is named in the echo area when it comes."
  :type 'boolean
  :group 'sould)

(defvar sould-chat-history nil
  "What was said to agents, newest first.
`savehist-additional-variables' can keep it.")
(defvar-local sould-chat--recalled nil "Which of `sould-chat-history' is in the input; nil for none.")
(defvar-local sould-chat--draft "" "What was typed before the history was looked at.")

(defvar sould-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("\r" . sould-chat-send) ("\C-j" . newline) ("\C-c\C-c" . sould-chat-send)
                     ("\C-c\C-k" . sould-cancel) ("\C-c\C-t" . sould-steer) ("\C-c\C-s" . sould-switch-session)
                     ("\C-c\C-y" . sould-chat-allow) ("\C-c\C-n" . sould-chat-reject)
                     ("\M-p" . sould-chat-previous-input) ("\M-n" . sould-chat-next-input)
                     ("\t" . forward-button) ([backtab] . backward-button)))
      (define-key map key command))
    map)
  "Keys of the chat.")

(defvar sould-chat--keywords
  '(("^#+ .*$" 0 'bold)
    ("\\*\\*[^*\n]+\\*\\*" 0 'bold)
    ("`[^`\n]+`" 0 'font-lock-constant-face)
    ("^```.*$" 0 'shadow))
  "How Markdown looks in the chat.")

(define-derived-mode sould-chat-mode text-mode "sould chat"
  "Talk to an agent.  What you type goes to it with \\[sould-chat-send].
\\{sould-chat-mode-map}"
  (setq-local font-lock-defaults '(sould-chat--keywords t)
              scroll-conservatively 101
              mode-line-process '(:eval (sould-inbox-mode-line)))
  (visual-line-mode 1)
  (sould-sight-watch #'sould-chat--spans))

;;;; Commands

(defun sould-chat--root ()
  "The project that a command is about."
  (if sould-chat--session (sould-session-root sould-chat--session) (sould-project-find-root)))

(defun sould-chat--here ()
  "The session that a command is about."
  (or sould-chat--session (sould-agent-session (sould-project-find-root))))

;;;###autoload
(defun sould-chat (&optional new)
  "Talk to the agent of this project; with NEW, a prefix argument, begin a session."
  (interactive "P")
  (let ((session (if new (sould-agent-new (sould-chat--root)) (sould-chat--here))))
    (pop-to-buffer (sould-chat--buffer session))
    (goto-char (point-max))))

;;;###autoload
(defun sould-prompt (text)
  "Ask the agent of this project TEXT.
When the region is active, its text and place go along.  The chat is
shown, and not selected."
  (interactive (list (read-string "Ask: " nil 'sould-chat-history)))
  (let ((session (sould-chat--here))
        (about (sould-chat--region)))
    (display-buffer (sould-chat--buffer session) sould-chat-display-action)
    (sould-agent-prompt session (concat text about))))

(defun sould-chat--region ()
  "The active region as part of a prompt; \"\" without one."
  (if (not (and (use-region-p) buffer-file-name))
      ""
    (format "\n\n%s, lines %d to %d:\n```\n%s\n```"
            (file-relative-name buffer-file-name (sould-chat--root))
            (line-number-at-pos (region-beginning) t) (line-number-at-pos (max (region-beginning) (1- (region-end))) t)
            (string-trim-right (buffer-substring-no-properties (region-beginning) (region-end)) "\n"))))

;;;###autoload
(defun sould-steer (text)
  "Say TEXT to the agent while it works.
When it has ended by then, that is the next prompt."
  (interactive (list (read-string "Say: " nil 'sould-chat-history)))
  (let ((session (sould-chat--here)))
    (if (sould-agent-steer session text)
        (message "Said; the agent has it with its next step")
      (sould-agent-prompt session text)
      (message "The agent does nothing at present, so it was asked"))))

;;;###autoload
(defun sould-cancel ()
  "Stop what the agent of this project does."
  (interactive)
  (sould-agent-cancel (sould-chat--here)))

;;;###autoload
(defun sould-switch-session ()
  "Show another session of this project."
  (interactive)
  (let* ((root (sould-chat--root))
         (names (mapcar (lambda (each) (cons (format "%s  %s" (substring (plist-get each :updatedAt) 0 16)
                                                     (sould-sight-line (or (plist-get each :title) "without a title")))
                                             each))
                        (or (sould-agent-list root) (user-error "There is no other session of this project"))))
         (picked (cdr (assoc (completing-read "Session: " (sould-chat--in-order names) nil t) names))))
    (sould-agent-load root (plist-get picked :sessionId) (plist-get picked :title)
                      (lambda (session) (pop-to-buffer (sould-chat--buffer session))))))

;;;###autoload
(defun sould-set-mode ()
  "Choose the mode of this project's session: what happens without asking."
  (interactive)
  (sould-chat--choose "mode"))

;;;###autoload
(defun sould-set-model ()
  "Choose the model of this project's session."
  (interactive)
  (sould-chat--choose "model"))

(defun sould-chat--choose (id)
  "Ask for a value of the option ID of the session, and set it."
  (let* ((session (sould-chat--here))
         (option (or (sould-agent-option session id) (user-error "There is only one %s" id)))
         (choices (mapcar (lambda (each) (cons (plist-get each :name) each)) (plist-get option :options)))
         (now (plist-get (seq-find (lambda (each) (equal (plist-get each :value) (plist-get option :currentValue)))
                                   (plist-get option :options))
                         :name))
         (completion-extra-properties
          (list :annotation-function
                (lambda (name) (concat "  " (plist-get (cdr (assoc name choices)) :description)))))
         (picked (completing-read (format-prompt "%s" now (plist-get option :name)) choices nil t nil nil now)))
    (sould-agent-choose session id (plist-get (cdr (assoc picked choices)) :value))
    (message "%s: %s" (plist-get option :name) picked)))

(defun sould-chat--in-order (names)
  "NAMES for completion, in the order they have."
  (lambda (text predicate action)
    (if (eq action 'metadata)
        '(metadata (display-sort-function . identity) (cycle-sort-function . identity))
      (complete-with-action action names text predicate))))

(defun sould-chat-send ()
  "Send what is typed; on a button, press it."
  (interactive)
  (cond ((button-at (point)) (push-button))
        ((< (point) sould-chat--input) (goto-char (point-max)))
        (t (let ((text (string-trim (buffer-substring-no-properties sould-chat--input (point-max)))))
             (unless (string-empty-p text)
               ;; In this order: where it cannot be sent, it is still there.
               (sould-agent-prompt sould-chat--session text)
               (let ((history-length sould-chat-history-length))
                 (add-to-history 'sould-chat-history text))
               (setq sould-chat--recalled nil)
               (delete-region sould-chat--input (point-max)))))))

(defun sould-chat-previous-input (count)
  "Put what you said COUNT messages before into the input."
  (interactive "p")
  (let ((place (+ (or sould-chat--recalled -1) count)))
    (cond ((< place -1) (user-error "Nothing was said after this"))
          ((>= place (length sould-chat-history)) (user-error "Nothing was said before this")))
    (unless sould-chat--recalled
      (setq sould-chat--draft (buffer-substring-no-properties sould-chat--input (point-max))))
    (delete-region sould-chat--input (point-max))
    (goto-char (point-max))
    (insert (if (= place -1) sould-chat--draft (nth place sould-chat-history)))
    (setq sould-chat--recalled (and (>= place 0) place))))

(defun sould-chat-next-input (count)
  "Put what you said COUNT messages after into the input."
  (interactive "p")
  (sould-chat-previous-input (- count)))

(defun sould-chat--question ()
  "The question at point, or the oldest one of this session."
  (or (car (seq-find (lambda (each) (and (>= (point) (nth 1 each)) (<= (point) (cdddr each)))) sould-chat--questions))
      (car (sould-session-asked sould-chat--session))
      (user-error "The agent asks nothing")))

(defun sould-chat-allow (&optional words)
  "Allow what the agent asks at point, or what it asks first, once.
With a prefix argument the agent is told WORDS beside the result.
A question with several answers is left to its buttons."
  (interactive (list (and current-prefix-arg (read-string "Tell the agent with the result: "))))
  (let ((question (sould-chat--question)))
    (when (> (seq-count (lambda (option) (equal (plist-get option :kind) "allow_once")) (sould-question-options question))
             1)
      (user-error "This is a question: choose one of its answers"))
    (sould-chat--answer question (sould-chat--option question "allow_once") words)))

(defun sould-chat--answer (question option &optional words)
  "Answer QUESTION with OPTION and WORDS for the agent.
To allow it, all of it must have been in sight."
  (when (string-prefix-p "allow" (plist-get option :kind))
    (sould-sight-need (sould-question-id question)))
  (sould-agent-answer question option words))

(defun sould-chat--spans ()
  "The open questions, each as its id with where it begins and ends."
  (mapcar (lambda (each) (cons (sould-question-id (car each)) (cons (nth 1 each) (cdddr each)))) sould-chat--questions))

(defun sould-chat-reject (words)
  "Reject what the agent asks, at point or first, and tell it WORDS.
Without words its turn ends."
  (interactive (list (read-string "Tell the agent why (empty: stop it): ")))
  (let ((question (sould-chat--question)))
    (sould-agent-answer question (sould-chat--option question "reject_once") words)))

(defun sould-chat--option (question kind)
  "The first option of QUESTION that is of KIND."
  (seq-find (lambda (option) (equal (plist-get option :kind) kind)) (sould-question-options question)))

;;;; The buffer

(defun sould-chat--buffer (session)
  "The buffer of SESSION; it is made if there is none."
  (let ((buffer (sould-session-buffer session)))
    (unless (buffer-live-p buffer)
      (setq buffer (generate-new-buffer
                    (format "*sould: %s*" (file-name-nondirectory (directory-file-name (sould-session-root session))))))
      (setf (sould-session-buffer session) buffer)
      (with-current-buffer buffer
        (sould-chat-mode)
        (setq default-directory (sould-session-root session)
              sould-chat--session session
              sould-chat--calls (make-hash-table :test #'equal))
        (sould-chat--prepare)
        (dolist (question (sould-session-asked session))
          (sould-chat--ask question))))
    buffer))

(defun sould-chat--prepare ()
  "Make the places of the current buffer, which is empty."
  (setq sould-chat--end (point-marker))
  (insert (propertize "\n> " 'face 'sould-chat-user 'read-only t 'front-sticky '(read-only) 'rear-nonsticky t
                      'field 'sould-chat))
  (setq sould-chat--input (point-marker))
  (set-marker-insertion-type sould-chat--end t)
  (sould-chat--add 'note "RET sends, C-j begins a line, C-c C-k stops the agent, C-c C-y and C-c C-n answer it.\n"
                   'sould-chat-note))

(defun sould-chat--add (kind text &optional face)
  "Put TEXT, of KIND, below what was said, with FACE.
Kinds are parted by an empty line.  Point stays where it is, and windows
that show the end go on showing it."
  (let ((inhibit-read-only t)
        (apart (and sould-chat--last (not (eq kind sould-chat--last)))))
    (setq sould-chat--last kind)
    (save-excursion
      (goto-char sould-chat--end)
      (let ((begin (point)))
        (when apart
          (insert (if (or (bobp) (eq (char-before) ?\n)) "\n" "\n\n")))
        (insert (if face (propertize text 'font-lock-face face) text))
        (add-text-properties begin (point) '(read-only t front-sticky (read-only)))
        (set-marker sould-chat--end (point))))))

(defun sould-chat--replace (begin end text face)
  "Put TEXT with FACE between the markers BEGIN and END."
  (let ((inhibit-read-only t))
    (save-excursion
      (goto-char begin)
      (insert (propertize text 'font-lock-face face 'read-only t 'front-sticky '(read-only)))
      (delete-region (point) end))))

;;;; What happens

(defun sould-chat--happened (session what params)
  "Show WHAT happened in SESSION, with PARAMS."
  (let ((buffer (sould-session-buffer session)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        (pcase what
          ('update (sould-chat--update params))
          ('begin (sould-chat--say params))
          ('asked (sould-chat--ask params))
          ('answered (sould-chat--answered (car params) (cdr params)))
          ('end (when params (sould-chat--add 'note (concat params "\n") 'sould-chat-note)))
          ('gone (setq sould-chat--questions nil)
                 (sould-chat--add 'note (concat params "; your next prompt connects again\n") 'sould-chat-note)))))
    (when (and sould-announce-questions (eq what 'asked))
      (message "sould asks: %s" (sould-sight-line (plist-get (sould-question-call params) :title))))))

(add-hook 'sould-agent-functions #'sould-chat--happened)

(defun sould-chat--say (text)
  "Show TEXT, which a user said."
  (setq sould-chat--last (and sould-chat--last 'other))
  (sould-chat--add 'user (concat "> " text "\n") 'sould-chat-user))

(defun sould-chat--update (update)
  "Show UPDATE, one of the protocol's."
  (let ((text (plist-get (plist-get update :content) :text)))
    (pcase (plist-get update :sessionUpdate)
      ("agent_message_chunk" (sould-chat--add 'agent (or text "")))
      ("agent_thought_chunk" (sould-chat--add 'thought (or text "") 'sould-chat-thought))
      ("user_message_chunk" (sould-chat--say (or text "")))
      ((or "tool_call" "tool_call_update") (sould-chat--call update))
      ("plan" (sould-chat--add 'note (mapconcat #'sould-chat--entry (plist-get update :entries) "") 'sould-chat-tool)))))

(defun sould-chat--entry (entry)
  "A line for ENTRY of a plan."
  (format "[%s] %s\n" (pcase (plist-get entry :status) ("completed" "x") ("in_progress" "-") (_ " "))
          (plist-get entry :content)))

(defun sould-chat--call (update)
  "Show the tool call that UPDATE is about."
  (let* ((id (plist-get update :toolCallId))
         (known (gethash id sould-chat--calls))
         (title (or (plist-get update :title) (plist-get known :title) "A tool"))
         (status (or (plist-get update :status) (plist-get known :status)))
         (line (format "* %s%s" title (pcase status ("completed" "") ("failed" " (failed)") (_ " ...")))))
    (if known
        (sould-chat--replace (plist-get known :begin) (plist-get known :end) line 'sould-chat-tool)
      (sould-chat--add 'tool (concat line "\n") 'sould-chat-tool)
      (let ((end (copy-marker (1- sould-chat--end))))
        (setq known (list :begin (copy-marker (- end (length line))) :end end))
        (set-marker-insertion-type end t)))
    (setq known (plist-put (plist-put known :title title) :status status))
    (puthash id known sould-chat--calls)
    ;; What an edit changed is shown in its file.
    (when-let ((shown (and (member status '("completed" "failed")) (not (plist-get known :shown))
                           (sould-chat--shown (seq-remove (lambda (each) (equal (plist-get each :type) "diff"))
                                                          (plist-get update :content))))))
      (puthash id (plist-put known :shown t) sould-chat--calls)
      (sould-chat--add 'tool shown))))

(defun sould-chat--shown (content &optional whole)
  "CONTENT of a tool call as text, WHOLE or its first lines, or nil."
  (let ((text (mapconcat (lambda (each)
                           (pcase (plist-get each :type)
                             ("content" (concat (sould-sight-safe (or (plist-get (plist-get each :content) :text) "")) "\n"))
                             ("diff" (sould-chat--diff (sould-sight-safe (or (plist-get each :oldText) ""))
                                                       (sould-sight-safe (or (plist-get each :newText) ""))))
                             (_ "")))
                         content "")))
    (unless (string-blank-p text)
      (sould-chat--cut text whole))))

(defun sould-chat--cut (text whole)
  "The first lines of TEXT, or the WHOLE of it, indented."
  (let* ((lines (split-string (string-trim-right text) "\n"))
         (shown (if whole lines (seq-take lines sould-chat-output-lines)))
         (more (- (length lines) (length shown))))
    (concat (mapconcat (lambda (line) (concat "  " line "\n")) shown "")
            (if (> more 0) (propertize (format "  ... %d more lines\n" more) 'font-lock-face 'sould-chat-note) ""))))

(defun sould-chat--diff (old new)
  "The lines that differ between the texts OLD and NEW."
  (let ((old (vconcat (split-string old "\n"))) (new (vconcat (split-string new "\n"))) (i 0) (j 0) shown)
    (pcase-dolist (`(,a . ,b) (append (sould-chat--same old new) (list (cons (length old) (length new)))))
      (when (and shown (or (< i a) (< j b)))
        (push "...\n" shown))
      (while (< i a)
        (push (propertize (concat "-" (aref old i) "\n") 'font-lock-face 'diff-removed) shown)
        (cl-incf i))
      (while (< j b)
        (push (propertize (concat "+" (aref new j) "\n") 'font-lock-face 'diff-added) shown)
        (cl-incf j))
      (cl-incf i)
      (cl-incf j))
    (apply #'concat (nreverse shown))))

(defun sould-chat--same (old new)
  "Which lines of the vectors OLD and NEW are the same, as pairs of places."
  (let ((head 0) (tail 0) (most (min (length old) (length new))))
    (while (and (< head most) (string= (aref old head) (aref new head)))
      (cl-incf head))
    (while (and (< tail (- most head))
                (string= (aref old (- (length old) tail 1)) (aref new (- (length new) tail 1))))
      (cl-incf tail))
    (let ((ours (seq-subseq old head (- (length old) tail))) (theirs (seq-subseq new head (- (length new) tail))))
      (append (cl-loop for place below head collect (cons place place))
              (when (< (* (length ours) (length theirs)) sould-chat--most-compared)
                (cl-loop for (a . b) in (sould-words-common ours theirs) collect (cons (+ head a) (+ head b))))
              (cl-loop for place below tail
                       collect (cons (+ (- (length old) tail) place) (+ (- (length new) tail) place)))))))

;;;; Questions

(defun sould-chat--ask (question)
  "Show QUESTION with a button for each of its options."
  (let* ((begin (copy-marker sould-chat--end))
         (call (sould-question-call question))
         (command (sould-chat--command call)))
    (sould-chat--add 'question (format "? %s\n" (if command
                                                   (sould-sight-safe (sould-chat--unfenced command))
                                                 (sould-sight-line (plist-get call :title))))
                     'sould-chat-question)
    (when-let ((shown (sould-chat--shown (remq command (plist-get call :content)) t)))
      (sould-chat--add 'question shown))
    (let ((buttons (copy-marker sould-chat--end)))
      (sould-chat--add 'question (concat "  " (mapconcat (lambda (option) (sould-chat--button question option))
                                                         (sould-question-options question) "  ")
                                         "\n"))
      (push (cons question (cons begin (cons buttons (copy-marker (1- sould-chat--end) t)))) sould-chat--questions))))

(defun sould-chat--command (call)
  "The part of the content of CALL that is its command, or nil.
The title has that on one line, and may leave out its middle."
  (when (equal (plist-get call :kind) "execute")
    (let ((first (car (split-string (plist-get call :title)))))
      (seq-find (lambda (each)
                  (let ((text (plist-get (plist-get each :content) :text)))
                    (and text first (string-prefix-p "```" text)
                         (string-prefix-p first (string-trim-left (sould-chat--unfenced each))))))
                (plist-get call :content)))))

(defun sould-chat--unfenced (part)
  "The text of PART, a code block of a call's content, without its fences."
  (string-join (butlast (cdr (split-string (plist-get (plist-get part :content) :text) "\n"))) "\n"))

(defun sould-chat--button (question option)
  "A button that answers QUESTION with OPTION."
  (make-text-button (format "[%s]" (sould-sight-line (plist-get option :name))) nil
                    'follow-link t
                    'action (lambda (_button) (sould-chat--answer question option))))

(defun sould-chat--answered (question how)
  "QUESTION was answered, HOW is in words."
  (when-let ((place (cdr (assq question sould-chat--questions))))
    (setq sould-chat--questions (assq-delete-all question sould-chat--questions))
    (sould-chat--replace (nth 1 place) (cddr place) (concat "  " how) 'sould-chat-note)))

(provide 'sould-chat)
;;; sould-chat.el ends here
