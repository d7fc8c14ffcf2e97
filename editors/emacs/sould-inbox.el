;;; sould-inbox.el --- What waits for your answer  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; All that sessions ask, of all projects and whichever client began them, told as it comes: by the server of a project from when
;; that is connected, for the mode line, or by `sould acp' while the inbox is shown.  Looking and answering open no session here,
;; and the first answer wins wherever it is given.

;;; Code:

(require 'crm)
(require 'sould-agent)
(require 'sould-project)
(require 'sould-sight)

(defface sould-inbox-title '((t :inherit warning :weight bold))
  "What is asked."
  :group 'sould)

(defconst sould-inbox--name "*sould inbox*" "The buffer of the inbox.")
(defvar sould-inbox--items nil "What waits, longest first.")
(defvar sould-inbox--told nil "The `sould acp' that tells what changes, where no project does.")

(defvar sould-inbox-mode-map
  (let ((map (make-sparse-keymap)))
    (suppress-keymap map)
    (pcase-dolist (`(,key . ,command)
                   '(("n" . sould-inbox-next) ("p" . sould-inbox-previous)
                     ("a" . sould-inbox-approve) ("s" . sould-inbox-approve-session)
                     ("r" . sould-inbox-reject) ("d" . sould-inbox-dismiss) ("\r" . sould-inbox-answer)
                     ("g" . sould-inbox-refresh) ("q" . quit-window)))
      (define-key map key command))
    map)
  "Keys of the inbox.")

(define-derived-mode sould-inbox-mode special-mode "sould inbox"
  "What waits for your answer, in all projects.
\\{sould-inbox-mode-map}"
  (setq-local revert-buffer-function (lambda (&rest _) (sould-inbox-refresh)))
  (visual-line-mode 1)
  (sould-sight-watch #'sould-inbox--spans)
  (add-hook 'kill-buffer-hook #'sould-inbox--leave nil t))

;;;###autoload
(defun sould-inbox ()
  "Show what waits for your answer, in all projects."
  (interactive)
  (let ((buffer (get-buffer-create sould-inbox--name)))
    (with-current-buffer buffer
      (unless (derived-mode-p 'sould-inbox-mode)
        (sould-inbox-mode)
        (let ((inhibit-read-only t))
          (insert "Looking ...\n")))
      (sould-inbox-refresh))
    (pop-to-buffer buffer)))

(defun sould-inbox-refresh ()
  "Ask for all that waits, and for news of it from then on."
  (interactive)
  (let ((connection (sould-inbox--connection)))
    (when (eq connection sould-agent--rpc)
      (setq sould-inbox--told connection))
    (sould-inbox--subscribe connection)))

(defun sould-inbox--connection ()
  "The connection over which the inbox is asked."
  (let ((project (seq-find (lambda (each) (and (sould-project-ready each) (sould-rpc-live-p (sould-project-rpc each))))
                           sould-project-all)))
    (if project (sould-project-rpc project) (sould-agent-connection))))

(defun sould-inbox--subscribe (connection)
  "Be told over CONNECTION what waits."
  (sould-rpc-request connection "_sould/inbox/subscribe" nil
                     (lambda (answer)
                       (setq sould-inbox--items (plist-get answer :items))
                       (sould-inbox--show))))

(defun sould-inbox--leave ()
  "Be told no more."
  (when (sould-rpc-live-p sould-inbox--told)
    (sould-rpc-request sould-inbox--told "_sould/inbox/unsubscribe" nil))
  (setq sould-inbox--told nil))

(defun sould-inbox--changed (method params)
  "Take the notification METHOD, if it is about the inbox, with PARAMS."
  (when (equal method "_sould/inbox/changed")
    (if (plist-get params :everything)
        (sould-inbox-refresh)
      (let ((ended (mapcar (lambda (each) (plist-get each :id)) (plist-get params :ended))))
        (setq sould-inbox--items (seq-remove (lambda (item) (member (plist-get item :id) ended)) sould-inbox--items)))
      (dolist (item (plist-get params :items))
        (sould-inbox--take item))
      (sould-inbox--show))))

(defun sould-inbox--take (item)
  "ITEM waits, in the place that it had, or behind all others."
  (let ((place (seq-position sould-inbox--items item
                             (lambda (one other) (equal (plist-get one :id) (plist-get other :id))))))
    (if place
        (setf (nth place sould-inbox--items) item)
      (setq sould-inbox--items (append sould-inbox--items (list item))))))

(defun sould-inbox--ended ()
  "Connect again if the inbox is shown."
  (when sould-inbox--told
    (setq sould-inbox--told nil)
    (when (get-buffer-window sould-inbox--name t)
      (run-at-time 1 nil #'sould-inbox-refresh))))

(add-hook 'sould-agent-notification-functions #'sould-inbox--changed)
(add-hook 'sould-agent-ended-hook #'sould-inbox--ended)

(defun sould-inbox--follow (project)
  "Have the server of PROJECT tell what waits."
  (sould-inbox--subscribe (sould-project-rpc project)))

(add-hook 'sould-project-ready-functions #'sould-inbox--follow)
(add-hook 'sould-project-told-functions (lambda (_project method params) (sould-inbox--changed method params)))

(defun sould-inbox-mode-line ()
  "Text for the mode line: how many questions wait, of whatever session."
  (let ((waiting (max (length sould-inbox--items) (length (sould-agent-questions)))))
    (if (= waiting 0)
        (sould-agent-mode-line)
      (propertize (format " ?%d" waiting) 'face 'error 'help-echo "Questions that wait for you: M-x sould-inbox"))))

(defvar sould-mode-line-functions)
(add-hook 'sould-mode-line-functions #'sould-inbox-mode-line)

(defun sould-inbox--show ()
  "Show what waits; point stays on what it is on."
  (force-mode-line-update t)
  (when-let ((buffer (get-buffer sould-inbox--name)))
    (with-current-buffer buffer
      (let ((inhibit-read-only t)
            (here (plist-get (get-text-property (point) 'sould-item) :id)))
        (erase-buffer)
        (mapc #'sould-inbox--insert sould-inbox--items)
        (mapc #'sould-inbox--complete sould-inbox--items)
        (insert (if sould-inbox--items "" "Nothing waits for you.\n")
                (propertize (substitute-command-keys
                             "\\<sould-inbox-mode-map>\\[sould-inbox-approve] approve  \\[sould-inbox-approve-session] approve from now on  \\[sould-inbox-reject] reject, with words  \\[sould-inbox-answer] answer  \\[sould-inbox-dismiss] dismiss")
                            'font-lock-face 'shadow)
                "\n")
        (goto-char (or (sould-inbox--place here) (point-min)))
        (dolist (window (get-buffer-window-list nil nil t))
          (set-window-point window (point)))))))

(defun sould-inbox--place (id)
  "Where the item ID begins, or nil."
  (let ((place (point-min)))
    (while (and place (not (and id (equal id (plist-get (get-text-property place 'sould-item) :id)))))
      (setq place (next-single-property-change place 'sould-item)))
    place))

(defun sould-inbox--complete (item)
  "Ask for the lines of ITEM that lists leave out."
  (unless (memq (plist-get item :more) '(nil 0))
    (sould-rpc-request (sould-inbox--connection) "_sould/inbox/show" (list :id (plist-get item :id))
                       (lambda (whole)
                         (when (seq-some (lambda (each) (equal (plist-get each :id) (plist-get whole :id)))
                                         sould-inbox--items)
                           (sould-inbox--take whole)
                           (sould-inbox--show)))
                       #'ignore)))

(defun sould-inbox--spans ()
  "What waits, each as its id with where it begins and ends."
  (let ((place (point-min)) found)
    (while place
      (let ((item (get-text-property place 'sould-item))
            (next (next-single-property-change place 'sould-item)))
        (when item
          (push (cons (plist-get item :id) (cons place (or next (point-max)))) found))
        (setq place next)))
    found))

(defun sould-inbox--insert (item)
  "Insert ITEM: its commands before all else."
  (let* ((begin (point))
         (session (plist-get item :session))
         (commands (mapcan #'sould-inbox--command (plist-get item :commands)))
         (about (seq-remove #'string-empty-p
                            (list (abbreviate-file-name (plist-get session :cwd)) (or (plist-get session :title) "")
                                  (or (plist-get item :asker) "")))))
    (insert (propertize (concat (mapconcat (lambda (line) (concat line "\n")) commands "")
                                (sould-sight-line (plist-get item :title)) "\n")
                        'font-lock-face 'sould-inbox-title)
            (propertize (format "  %s\n" (sould-sight-line (string-join about ", "))) 'font-lock-face 'shadow)
            (mapconcat (lambda (line) (concat "  " (sould-sight-line line) "\n"))
                       (seq-difference (plist-get item :lines) commands) "")
            (mapconcat #'sould-inbox--question (plist-get item :questions) "")
            "\n")
    (put-text-property begin (point) 'sould-item item)))

(defun sould-inbox--command (command)
  "The lines of COMMAND, as the lines of an item have them."
  (mapcar (lambda (line) (concat "$ " line)) (split-string (plist-get command :command) "\n")))

(defun sould-inbox--question (question)
  "QUESTION with its options, as text."
  (let ((number 0))
    (concat "  " (sould-sight-line (plist-get question :question)) "\n"
            (mapconcat (lambda (line) (concat "  " line "\n"))
                       (split-string (sould-sight-safe (or (plist-get question :body) "")) "\n" t) "")
            (mapconcat (lambda (option)
                         (let ((description (or (plist-get option :description) "")))
                           (format "    %d. %s%s\n" (cl-incf number) (sould-sight-line (plist-get option :label))
                                   (if (string-empty-p description) "" (concat ": " (sould-sight-line description))))))
                       (plist-get question :options) ""))))

;;;; Commands

(defun sould-inbox--item ()
  "The item at point."
  (or (get-text-property (point) 'sould-item)
      (user-error "Nothing here waits for you")))

(defun sould-inbox--tell (item decision &rest more)
  "Answer ITEM by DECISION, with MORE parameters.
An approval is given only to what was in sight."
  (when (equal decision "approve")
    (sould-sight-need (plist-get item :id)))
  (sould-rpc-request (sould-inbox--connection) "_sould/inbox/answer"
                     (append (list :id (plist-get item :id) :decision decision) more)
                     (lambda (answer) (message "%s" (plist-get answer :message)))))

(defun sould-inbox--approval ()
  "The approval at point."
  (let ((item (sould-inbox--item)))
    (if (equal (plist-get item :kind) "approval")
        item
      (user-error "%s" (substitute-command-keys
                        "\\<sould-inbox-mode-map>This is a question: \\[sould-inbox-answer] answers it, \\[sould-inbox-dismiss] dismisses it")))))

(defun sould-inbox-approve ()
  "Allow what is asked at point, once."
  (interactive)
  (sould-inbox--tell (sould-inbox--approval) "approve" :scope "once"))

(defun sould-inbox-approve-session ()
  "Allow what is asked at point, and the like from now on.
That is in its session, in its project, or always."
  (interactive)
  (let* ((item (sould-inbox--approval))
         (offered (seq-remove (lambda (each) (equal (plist-get each :scope) "once")) (plist-get item :scopes)))
         (labels (mapcar (lambda (each) (plist-get each :label)) offered))
         (label (cond ((null offered) (user-error "This can only be allowed once"))
                      ((cdr offered) (completing-read "From now on: " labels nil t))
                      (t (car labels))))
         (scope (seq-find (lambda (each) (equal (plist-get each :label) label)) offered))
         (remembers (or (plist-get scope :remembers) "")))
    (when (and scope (y-or-n-p (format "%s  %s? " remembers label)))
      (sould-inbox--tell item "approve" :scope (plist-get scope :scope)))))

(defun sould-inbox-reject (words)
  "Reject what is asked at point, and tell the agent WORDS.
Without words its turn ends."
  (interactive (list (progn (sould-inbox--approval)
                            (read-string "Tell the agent why (empty: stop it): "))))
  (apply #'sould-inbox--tell (sould-inbox--approval) "reject"
         (unless (string-empty-p words) (list :words words))))

(defun sould-inbox-dismiss ()
  "Have the agent go on without an answer to the question at point."
  (interactive)
  (let ((item (sould-inbox--item)))
    (if (equal (plist-get item :kind) "approval")
        (user-error "%s" (substitute-command-keys
                          "\\<sould-inbox-mode-map>\\[sould-inbox-reject] rejects this"))
      (when (y-or-n-p "Go on without an answer? ")
        (sould-inbox--tell item "dismiss")))))

(defun sould-inbox-answer ()
  "Answer the question at point, or approve what is asked there."
  (interactive)
  (let ((item (sould-inbox--item)))
    (if (equal (plist-get item :kind) "approval")
        (when (y-or-n-p (format "Approve: %s? " (plist-get item :title)))
          (sould-inbox--tell item "approve" :scope "once"))
      (sould-inbox--tell item "answer" :answers (vconcat (mapcar #'sould-inbox--read (plist-get item :questions)))))))

(defun sould-inbox--read (question)
  "What the user answers QUESTION: options, or words of their own."
  (let* ((labels (mapcar (lambda (option) (plist-get option :label)) (plist-get question :options)))
         (own (or (null labels) (not (member (plist-get question :words) '(nil "")))))
         (crm-separator "[ \t]*;[ \t]*")
         (prompt (concat (sould-sight-line (plist-get question :question)) (if (plist-get question :several) " (several with ;) " " ")))
         (typed (cond ((null labels) (list (read-string prompt (plist-get question :default))))
                      ((plist-get question :several) (completing-read-multiple prompt labels nil (not own)))
                      (t (list (completing-read prompt labels nil (not own))))))
         (given (seq-remove #'string-empty-p typed)))
    (cond ((null given) nil)
          ((seq-every-p (lambda (each) (member each labels)) given) (list :chosen (vconcat given)))
          (t (list :words (string-join given "; "))))))

(defun sould-inbox-next ()
  "Go to the next item."
  (interactive)
  (goto-char (or (next-single-property-change (point) 'sould-item) (point))))

(defun sould-inbox-previous ()
  "Go to the previous item."
  (interactive)
  (goto-char (or (previous-single-property-change (point) 'sould-item) (point-min))))

(provide 'sould-inbox)
;;; sould-inbox.el ends here
